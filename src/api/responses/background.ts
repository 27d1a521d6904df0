/**
 * Starts, polls, follows, cancels and deletes background responses.
 *
 * The process that runs one writes to the store while it runs: the events, the response when it has changed, and a
 * heartbeat every second, or less often where the platform counts operations. A response can therefore be polled,
 * followed and cancelled through any gateway with the same store. A gateway that finds its heartbeat stopped reports
 * the response as failed.
 */
import * as z from "zod";
import { partOf, type ProcessState } from "../../lazy.ts";
import { createEntries, type Entries } from "../../store/entries.ts";
import { StoreError } from "../../store/store-error.ts";
import { shutdownError } from "../../models/shutdown.ts";
import type { Client } from "../request/client.ts";
import { refusal, RequestError, ignoreStoreFailure } from "../errors.ts";
import type { ResponsesContext } from "./context.ts";
import { BackgroundWriter, EventLog } from "./background-writer.ts";
import { followResponse, unknownResponse } from "./follow-response.ts";
import type { PreparedResponse } from "./prepare.ts";
import { isInFlight, type StoredResponse } from "./response-store.ts";
import { runInBackground } from "./run-in-background.ts";
import { withEvents } from "./stream-response.ts";
import type { ResponseEvent } from "./to-events.ts";

export interface Started {
  /** Resolves when the response has ended, whatever the outcome. Never rejects. */
  readonly ended: Promise<void>;
}

const heartbeat = z.lazy(() => z.number());
const cancelMark = z.lazy(() => z.literal("cancelled"));

/** A response in flight in this process. */
interface Running {
  readonly tenant: string;
  readonly abort: AbortController;
  readonly writer: BackgroundWriter;
  readonly ended: Promise<void>;
}

export class Background {
  readonly #context: ResponsesContext;
  readonly #log: EventLog;
  readonly #cancelled: Entries<"cancelled">;
  /** Running responses under all generations of settings, by id. */
  readonly #running: Map<string, Running>;
  /** The latest heartbeat of each response, stored separately because the response may be long. */
  readonly #beats: Entries<number>;
  readonly #heartbeats: HeartbeatWatch;

  constructor(context: ResponsesContext) {
    this.#context = context;
    this.#running = runningIn(context.state);
    this.#log = new EventLog(context);
    this.#cancelled = createEntries("response-cancelled", [cancelMark], context);
    this.#beats = createEntries("response-heartbeat", [heartbeat], context);
    this.#heartbeats = new HeartbeatWatch(context.clock, context.store.staleMs, context.state);
  }

  /**
   * Starts a response. Resolves when the response can be found by its id. Rejects with a {@link RequestError} when too
   * many are in flight, and when the store fails.
   */
  async start(prepared: PreparedResponse): Promise<Started> {
    const { tenant } = prepared.caller.client;
    this.#admit(tenant);
    const context = this.#context;
    const streamed = withEvents(prepared, context);
    const isCancelled = async () => (await this.#cancelled.get(tenant, prepared.id)) !== undefined;
    const beat = async () => {
      await this.#beats.set(context.now(), tenant, prepared.id);
    };
    const writer = new BackgroundWriter(prepared, context, { log: this.#log, isCancelled, beat });
    writer.add(streamed.writer.queue());
    const abort = new AbortController();
    const accepted = writer.accept();
    const ended = accepted
      .then(() => runInBackground(streamed, context, writer, abort))
      .catch((error: unknown) => this.#giveUp(tenant, prepared.id, error))
      .catch(ignoreStoreFailure)
      .finally(() => this.#running.delete(prepared.id));
    // The response is counted before the store has answered, so that concurrent requests cannot exceed the limit.
    this.#running.set(prepared.id, { tenant, abort, writer, ended });
    context.shutdown.track(ended);
    await accepted;
    return { ended };
  }

  /** Reads the stored response. If its heartbeat has stopped, it is marked as failed first. */
  async read(tenant: string, id: string): Promise<StoredResponse | undefined> {
    const entry = await this.#context.responses.get(tenant, id);
    if (entry === undefined || this.#runningHere(tenant, id)) return entry;
    if (!isInFlight(entry.response)) {
      this.#heartbeats.forget(id);
      return entry;
    }
    const beat = (await this.#beats.get(tenant, id)) ?? entry.storedAt;
    if (!this.#heartbeats.isDead(id, beat)) return entry;
    return this.#rewrite(tenant, entry, { status: "failed", error: DEATH });
  }

  /** The stored and future events of a response after a sequence number, filtered for the client. */
  follow(
    client: Client,
    id: string,
    startingAfter: number,
    signal: AbortSignal,
  ): AsyncGenerator<ResponseEvent> {
    const { clock, store } = this.#context;
    return followResponse(
      { client, id, startingAfter, signal },
      {
        log: this.#log,
        read: (tenant, each) => this.read(tenant, each),
        piecesHere: (each) => this.#runningHere(client.tenant, each)?.writer.pieces,
        clock,
        store,
      },
    );
  }

  /** Cancels a response and returns its final state. Rejects with a {@link RequestError} if it is not in flight. */
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
    const own = this.#runningHere(tenant, id);
    if (own !== undefined) {
      own.abort.abort();
      await own.ended;
      return (await this.read(tenant, id)) ?? entry;
    }
    await this.#cancelled.set("cancelled", tenant, id);
    return this.#rewrite(tenant, entry, { status: "cancelled" });
  }

  /** Cancels a response if it is in flight, and deletes it with its events. */
  async delete(tenant: string, { response }: StoredResponse): Promise<void> {
    const { id } = response;
    if (isInFlight(response)) await this.cancel(tenant, id).catch(unlessEnded);
    if (response["background"] === true) await this.#log.delete(tenant, id);
    await this.#context.responses.delete(tenant, id);
  }

  #runningHere(tenant: string, id: string): Running | undefined {
    const running = this.#running.get(id);
    return running?.tenant === tenant ? running : undefined;
  }

  #admit(tenant: string): void {
    const { shutdown, settings, maxBackgroundOf } = this.#context;
    if (shutdown.closing.aborted) throw shutdownError();
    if (this.#running.size >= settings.maxBackground) {
      throw new RequestError(
        "The gateway has reached its limit of background responses. Try again later.",
        { ...TOO_MANY, status: 503 },
      );
    }
    const own = [...this.#running.values()].filter((each) => each.tenant === tenant).length;
    if (own < maxBackgroundOf(tenant)) return;
    throw refusal(
      "background",
      `this key has reached its limit of ${own} background responses. Wait for one to end, or cancel one.`,
      { ...TOO_MANY, status: 429 },
    );
  }

  /** Handles an end that could not be stored. A response that is only too large can still be marked as failed. */
  async #giveUp(tenant: string, id: string, error: unknown): Promise<void> {
    ignoreStoreFailure(error);
    if (error instanceof StoreError && error.kind === "unavailable") return;
    const entry = await this.#context.responses.get(tenant, id);
    if (entry === undefined) return;
    await this.#rewrite(tenant, entry, { status: "failed", error: TOO_LARGE });
  }

  /** Stores the entry with these changes. If the store fails, the next reader reaches the same result. */
  async #rewrite(
    tenant: string,
    entry: StoredResponse,
    changed: Readonly<Record<string, unknown>> & { readonly status: string },
  ): Promise<StoredResponse> {
    const response = { ...entry.response, ...changed };
    const next = { ...entry, response, storedAt: this.#context.now(), events: undefined };
    const { responses } = this.#context;
    await responses.put(tenant, next, { store: true, earlier: [] }).catch(ignoreStoreFailure);
    return next;
  }
}

const runningIn = partOf(() => new Map<string, Running>());

/** Rethrows anything but the refusal to cancel a response that has ended since it was read. */
function unlessEnded(error: unknown): void {
  if (!(error instanceof RequestError)) throw error;
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

/** Time without a heartbeat after which the process that runs a response is considered dead. */
const DEAD_AFTER_MS = 30_000;
/** Maximum number of watched responses. If the oldest is dropped, its death is noticed later. */
const MAX_WATCHED = 10_000;

/**
 * Detects that the process which runs a background response has died: its heartbeat has not changed for a while by the
 * reader's own monotonic clock. The value of the heartbeat is not compared with any clock, because the clocks of two
 * machines differ, and any of them may jump.
 */
class HeartbeatWatch {
  readonly #clock: () => number;
  readonly #deadAfterMs: number;
  readonly #seen: ReturnType<typeof seenIn>;

  /**
   * @param clock monotonic, in milliseconds.
   * @param staleMs time for which the store may return an earlier heartbeat.
   */
  constructor(clock: () => number, staleMs: number, state?: ProcessState) {
    this.#clock = clock;
    this.#deadAfterMs = DEAD_AFTER_MS + staleMs;
    this.#seen = seenIn(state);
  }

  /** Notes a response's heartbeat, and returns whether it has been unchanged for too long. */
  isDead(id: string, beat: number): boolean {
    const seen = this.#seen;
    const last = seen.get(id);
    if (last?.beat === beat) return this.#clock() - last.since >= this.#deadAfterMs;
    seen.delete(id);
    seen.set(id, { beat, since: this.#clock() });
    for (const oldest of seen.keys()) {
      if (seen.size <= MAX_WATCHED) break;
      seen.delete(oldest);
    }
    return false;
  }

  /** Called when the response has ended. */
  forget(id: string): void {
    this.#seen.delete(id);
  }
}

/** The last seen heartbeats, by the response's id. */
const seenIn = partOf(() => new Map<string, { readonly beat: number; readonly since: number }>());
