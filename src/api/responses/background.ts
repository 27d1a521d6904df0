/**
 * Background responses: started, polled, followed and cancelled.
 *
 * The process that runs one writes to the store while it runs: the events, and about every second the response itself as a
 * heartbeat. So a response can be polled, followed and cancelled through any gateway with the same store, and it is
 * reported as failed soon after its own gateway has died.
 */
import * as z from "zod";
import { createEntries, type Entries } from "../../store/entries.ts";
import { StoreError } from "../../store/store-error.ts";
import { shutdownError } from "../../models/shutdown.ts";
import type { Client } from "../client.ts";
import { RequestError } from "../errors.ts";
import type { ResponsesContext } from "./context.ts";
import { ignoreStoreFailure, type PendingResponse } from "./create-response.ts";
import { toErrorMembers } from "./errors.ts";
import { createEventLog, type EventLog } from "./event-log.ts";
import { createBackgroundWriter } from "./background-writer.ts";
import { isInFlight, type StoredResponse } from "./response-store.ts";
import { runInBackground } from "./run-in-background.ts";
import { withEvents } from "./stream-response.ts";
import { showResponse } from "./to-client.ts";
import type { ResponseEvent } from "./to-events.ts";
import { sleep } from "../../streams/timers.ts";

/** Without a heartbeat for so long, the process that runs the response is considered dead. */
const DEAD_AFTER_MS = 30_000;
/** How often a follower polls for new events. */
const POLL_MS = 100;

export interface Background {
  /**
   * Starts it. Resolves when it can be found by its id. Throws a {@link RequestError} when too many are in flight, and
   * rejects when the store fails.
   */
  start(pending: PendingResponse): Promise<Started>;
  /** The stored response. One without a recent heartbeat is marked as failed first. */
  read(tenant: string, id: string): Promise<StoredResponse | undefined>;
  /** Its stored and future events, after a sequence number, as the client may see them. */
  follow(
    client: Client,
    id: string,
    startingAfter: number,
    signal: AbortSignal,
  ): AsyncGenerator<ResponseEvent>;
  /** Cancels it and returns its final state. Throws a {@link RequestError} when it is not in flight. */
  cancel(tenant: string, id: string): Promise<StoredResponse>;
}

export interface Started {
  /** Resolves when it has ended, whatever the outcome. Never rejects. */
  readonly ended: Promise<void>;
}

const cancelMark = z.lazy(() => z.literal("cancelled"));

/** A response in flight in this process. */
interface Running {
  readonly tenant: string;
  readonly abort: AbortController;
  readonly ended: Promise<void>;
}

export function createBackground(context: ResponsesContext): Background {
  return new BackgroundResponses(context);
}

class BackgroundResponses implements Background {
  readonly #context: ResponsesContext;
  readonly #log: EventLog;
  readonly #cancelled: Entries<"cancelled">;
  /** By the response's id. */
  readonly #running = new Map<string, Running>();

  constructor(context: ResponsesContext) {
    this.#context = context;
    this.#log = createEventLog(context);
    this.#cancelled = createEntries("response-cancelled", cancelMark, context);
  }

  async start(pending: PendingResponse): Promise<Started> {
    const { tenant } = pending.caller.client;
    this.#admit(tenant);
    const context = this.#context;
    const streamed = withEvents(pending, context);
    const isCancelled = async () => (await this.#cancelled.get(tenant, pending.id)) !== undefined;
    const writer = createBackgroundWriter(pending, context, { log: this.#log, isCancelled });
    writer.add(streamed.writer.queue());
    const abort = new AbortController();
    const accepted = writer.accept();
    const ended = accepted
      .then(() => runInBackground(streamed, context, writer, abort))
      .catch((error: unknown) => this.#giveUp(tenant, pending.id, error))
      .catch(ignoreStoreFailure)
      .finally(() => this.#running.delete(pending.id));
    // Counted before the store has answered, so that concurrent requests cannot exceed the limit.
    this.#running.set(pending.id, { tenant, abort, ended });
    context.shutdown.track(ended);
    await accepted;
    return { ended };
  }

  async read(tenant: string, id: string): Promise<StoredResponse | undefined> {
    const entry = await this.#context.responses.get(tenant, id);
    if (entry === undefined || !isInFlight(entry.response)) return entry;
    if (this.#now() - entry.storedAt < DEAD_AFTER_MS) return entry;
    return this.#rewrite(tenant, entry, { status: "failed", error: DEATH });
  }

  async *follow(
    client: Client,
    id: string,
    startingAfter: number,
    signal: AbortSignal,
  ): AsyncGenerator<ResponseEvent> {
    const { tenant } = client;
    let sequence = 0;
    let piece = 0;
    for (let ended: StoredResponse | undefined; ;) {
      const events = await this.#log.read(tenant, id, piece);
      if (events !== undefined) {
        piece++;
        for (const event of events) if (sequence++ > startingAfter) yield event;
      } else if (ended !== undefined) {
        for (const event of lastEvents(ended, sequence, client)) {
          if (sequence++ > startingAfter) yield event;
        }
        return;
      } else {
        const entry = await this.read(tenant, id);
        if (entry === undefined || signal.aborted) return;
        // Its events were stored before its end, but perhaps after they were read here.
        if (isInFlight(entry.response)) await sleep(POLL_MS, signal);
        else ended = entry;
      }
    }
  }

  async cancel(tenant: string, id: string): Promise<StoredResponse> {
    const entry = await this.read(tenant, id);
    if (entry === undefined) throw unknownResponse(id);
    if (entry.response["background"] !== true) {
      throw new RequestError(`The response ${id} is not a background response.`);
    }
    if (entry.response.status === "cancelled") return entry;
    if (!isInFlight(entry.response)) {
      throw new RequestError(`The response ${id} has already ended: ${entry.response.status}.`);
    }
    const own = this.#running.get(id);
    if (own?.tenant === tenant) {
      own.abort.abort();
      await own.ended;
      return (await this.read(tenant, id)) ?? entry;
    }
    await this.#cancelled.set("cancelled", tenant, id);
    return this.#rewrite(tenant, entry, { status: "cancelled" });
  }

  #now(): number {
    return this.#context.now();
  }

  #admit(tenant: string): void {
    const { shutdown, maxBackground, maxBackgroundOf } = this.#context;
    if (shutdown.closing.aborted) throw shutdownError();
    if (this.#running.size >= maxBackground) {
      throw new RequestError(
        "The gateway has reached its limit of background responses. Try again later.",
        { ...TOO_MANY, status: 503, type: "server_error" },
      );
    }
    const own = [...this.#running.values()].filter((each) => each.tenant === tenant).length;
    if (own < maxBackgroundOf(tenant)) return;
    throw new RequestError(
      `background: this key has reached its limit of ${own} background responses. Wait for one to end, or cancel one.`,
      { ...TOO_MANY, status: 429, type: "rate_limit_error", param: "background" },
    );
  }

  /** Its end could not be stored. If it is only too large, it can still be marked as failed. */
  async #giveUp(tenant: string, id: string, error: unknown): Promise<void> {
    ignoreStoreFailure(error);
    if (error instanceof StoreError && error.kind === "unavailable") return;
    const entry = await this.#context.responses.get(tenant, id);
    if (entry === undefined) return;
    await this.#rewrite(tenant, entry, { status: "failed", error: TOO_LARGE });
  }

  async #rewrite(
    tenant: string,
    entry: StoredResponse,
    changed: Readonly<Record<string, unknown>> & { readonly status: string },
  ): Promise<StoredResponse> {
    const response = { ...entry.response, ...changed };
    const next = { ...entry, response, storedAt: this.#now(), events: undefined };
    await this.#context.responses.put(tenant, next, { store: true, earlier: [] });
    return next;
  }
}

const TOO_MANY = { errorType: "rate_limit_exceeded", retryAfter: 5 } as const;

const DEATH = {
  code: "server_error",
  message: "The gateway that ran this response has stopped. Send the request again.",
};

const TOO_LARGE = {
  code: "server_error",
  message: "The response became too large to be stored.",
};

export function unknownResponse(id: string): RequestError {
  return new RequestError(`There is no response with the id ${JSON.stringify(id)}.`, {
    status: 404,
    type: "not_found_error",
    errorType: "response_not_found",
  });
}

const storedFailure = z.lazy(() =>
  z.object({
    error: z.object({ code: z.string().nullable(), message: z.string() }).nullish(),
  }),
);

function lostEvents(id: string): RequestError {
  return new RequestError(`The events of the response ${id} have expired.`, {
    status: 404,
    type: "not_found_error",
    errorType: "events_not_found",
  });
}

/**
 * The events after the stored ones. Throws a {@link RequestError} when stored ones are missing.
 *
 * A response that could not write its own end, because its process has died, it became too large or another gateway
 * cancelled it, has no number of events.
 */
function lastEvents(entry: StoredResponse, sequence: number, client: Client): ResponseEvent[] {
  const { response, events } = entry;
  if (events !== undefined && events !== sequence) throw lostEvents(response.id);
  const { status } = response;
  const { error } = storedFailure.parse(response);
  // The API has no event for a cancellation. The response in this one says `cancelled`, so that no stream just stops.
  const type = status === "cancelled" ? "response.incomplete" : `response.${status}`;
  const shown = { response: showResponse(response, client) };
  if (events !== undefined || error == null) return [toEvent(type, sequence, shown)];
  const members = toErrorMembers({ ...error, type: "server_error", param: null });
  return [toEvent("error", sequence, members), toEvent(type, sequence + 1, shown)];
}

function toEvent(type: string, sequence: number, members: object): ResponseEvent {
  return { type, json: JSON.stringify({ type, sequence_number: sequence, ...members }) };
}
