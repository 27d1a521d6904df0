/**
 * Background responses: started, polled, followed, cancelled and deleted.
 *
 * The process that runs one writes to the store while it runs: the events, the response when it has changed, and a heartbeat
 * every second, or less often where the platform counts operations. So a response can be polled, followed and cancelled through
 * any gateway with the same store, and a gateway that sees its heartbeat stop reports it as failed.
 */
import * as z from "zod";
import { partOf, type ProcessState } from "../../lazy.ts";
import { createEntries, type Entries } from "../../store/entries.ts";
import { StoreError } from "../../store/store-error.ts";
import { shutdownError } from "../../models/shutdown.ts";
import type { Client } from "../request/client.ts";
import { refusal, RequestError } from "../errors.ts";
import type { ResponsesContext } from "./context.ts";
import { BackgroundWriter, EventLog } from "./background-writer.ts";
import { followResponse, unknownResponse } from "./follow-response.ts";
import type { PreparedResponse } from "./prepare.ts";
import { ignoreStoreFailure, isInFlight, type StoredResponse } from "./response-store.ts";
import { runInBackground } from "./run-in-background.ts";
import { withEvents } from "./stream-response.ts";
import type { ResponseEvent } from "./to-events.ts";

export interface Started {
  /** Resolves when it has ended, whatever the outcome. Never rejects. */
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
  /** Those of all generations of settings, by the response's id. */
  readonly #running: Map<string, Running>;
  /** The latest heartbeat of each response: apart, because the response may be long. */
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
   * Starts it. Resolves when it can be found by its id. Throws a {@link RequestError} when too many are in flight, and
   * rejects when the store fails.
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
    // Counted before the store has answered, so that concurrent requests cannot exceed the limit.
    this.#running.set(prepared.id, { tenant, abort, writer, ended });
    context.shutdown.track(ended);
    await accepted;
    return { ended };
  }

  /** The stored response. One whose heartbeat has stopped is marked as failed first. */
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

  /** Its stored and future events, after a sequence number, as the client may see them. */
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

  /** Cancels it and returns its final state. Throws a {@link RequestError} when it is not in flight. */
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

  /** Cancels it if it is in flight, and deletes it with its events. */
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
        { ...TOO_MANY, status: 503, type: "server_error" },
      );
    }
    const own = [...this.#running.values()].filter((each) => each.tenant === tenant).length;
    if (own < maxBackgroundOf(tenant)) return;
    throw refusal(
      "background",
      `this key has reached its limit of ${own} background responses. Wait for one to end, or cancel one.`,
      { ...TOO_MANY, status: 429, type: "rate_limit_error" },
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

  /** Stores the entry with these changes, if the store takes it. If not, the next reader comes to the same result. */
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

/** Without a change for so long, the process that runs the response is considered dead. */
const DEAD_AFTER_MS = 30_000;
/** Responses that are watched at once. Without the oldest one, its death is noticed later. */
const MAX_WATCHED = 10_000;

/**
 * Recognises that the process which runs a background response has died: its heartbeat has not changed for a while by the
 * reader's own monotonic clock. What the heartbeat says is not compared with any clock, because the clocks of two machines
 * differ, and any of them may jump.
 */
class HeartbeatWatch {
  readonly #clock: () => number;
  readonly #deadAfterMs: number;
  readonly #seen: ReturnType<typeof seenIn>;

  /**
   * @param clock monotonic, in milliseconds.
   * @param staleMs how long the store may return an earlier heartbeat.
   */
  constructor(clock: () => number, staleMs: number, state?: ProcessState) {
    this.#clock = clock;
    this.#deadAfterMs = DEAD_AFTER_MS + staleMs;
    this.#seen = seenIn(state);
  }

  /** Takes note of a response's heartbeat, and returns whether it has been the same for too long. */
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

  /** The response has ended. */
  forget(id: string): void {
    this.#seen.delete(id);
  }
}

/** By the response's id. */
const seenIn = partOf(() => new Map<string, { readonly beat: number; readonly since: number }>());
