/**
 * Background responses: started, polled, followed and cancelled.
 *
 * The process that runs one writes to the store while it runs: the events, and about every second the response itself as a
 * heartbeat. So a response can be polled, followed and cancelled through any gateway with the same store, and it is
 * reported as failed soon after its own gateway has died.
 */
import * as z from "zod";
import { consume } from "../../streams/push-stream.ts";
import { createEntries } from "../../store/entries.ts";
import { StoreError } from "../../store/store-error.ts";
import { shutdownError } from "../../models/shutdown.ts";
import { describeError, RequestError } from "../errors.ts";
import type { ResponsesContext } from "./context.ts";
import { ignoreStoreFailure, type PendingResponse } from "./create-response.ts";
import { toErrorMembers } from "./errors.ts";
import { createEventLog } from "./event-log.ts";
import { createBackgroundWriter, type BackgroundWriter } from "./background-writer.ts";
import { isInFlight, type StoredResponse } from "./response-store.ts";
import { type StreamedResponse, streamResponse, withEvents } from "./stream-response.ts";
import type { ResponseEvent } from "./to-events.ts";
import { sleep } from "../../streams/timers.ts";

/** How often new events are written. */
const FLUSH_MS = 200;
/** A heartbeat, which also checks for a cancellation, comes after every so many flushes. */
const TICKS_PER_HEARTBEAT = 5;
/** Without a heartbeat for so long, the process that runs the response is considered dead. */
const DEAD_AFTER_MS = 30_000;
/** How often a follower polls for new events. */
const POLL_MS = 100;
/** Polls for the last event of an ended response before giving up. */
const POLLS_AFTER_END = 20;

export interface Background {
  /**
   * Starts it. Resolves when it can be found by its id. Throws a {@link RequestError} when too many are in flight, and
   * rejects when the store fails.
   */
  start(pending: PendingResponse): Promise<Started>;
  /** The stored response. One without a recent heartbeat is marked as failed first. */
  read(tenant: string, id: string): Promise<StoredResponse | undefined>;
  /** Its stored and future events, after a sequence number. */
  follow(
    tenant: string,
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
  const { responses, shutdown } = context;
  const now = () => context.now().getTime();
  const log = createEventLog(context);
  const cancelled = createEntries("response-cancelled", cancelMark, context);
  /** By the response's id. */
  const running = new Map<string, Running>();

  return { start, read, follow, cancel };

  async function start(pending: PendingResponse): Promise<Started> {
    const { tenant } = pending.caller.client;
    admit(tenant);
    const streamed = withEvents(pending, context);
    const isCancelled = async () => (await cancelled.get(tenant, pending.id)) !== undefined;
    const backgroundWriter = createBackgroundWriter(pending, context, { log, isCancelled });
    backgroundWriter.add(streamed.writer.queue());
    const abort = new AbortController();
    const accepted = backgroundWriter.keep();
    const ended = accepted
      .then(() => make(streamed, context, backgroundWriter, abort))
      .catch((error: unknown) => giveUp(tenant, pending.id, error))
      .catch(ignoreStoreFailure)
      .finally(() => running.delete(pending.id));
    // Counted before the store has answered, so that concurrent requests cannot exceed the limit.
    running.set(pending.id, { tenant, abort, ended });
    shutdown.track(ended);
    await accepted;
    return { ended };
  }

  function admit(tenant: string): void {
    if (shutdown.closing.aborted) throw shutdownError();
    if (running.size >= context.maxBackground) {
      throw new RequestError(
        "The gateway has reached its limit of background responses. Try again later.",
        { ...TOO_MANY, status: 503, type: "server_error" },
      );
    }
    const own = [...running.values()].filter((each) => each.tenant === tenant).length;
    if (own < context.maxBackgroundOf(tenant)) return;
    throw new RequestError(
      `background: this key has reached its limit of ${own} background responses. Wait for one to end, or cancel one.`,
      { ...TOO_MANY, status: 429, type: "rate_limit_error", param: "background" },
    );
  }

  /** Its end could not be stored. If it is only too large, it can still be marked as failed. */
  async function giveUp(tenant: string, id: string, error: unknown): Promise<void> {
    ignoreStoreFailure(error);
    if (error instanceof StoreError && error.kind === "unavailable") return;
    const entry = await responses.get(tenant, id);
    if (entry !== undefined) await rewrite(tenant, entry, { status: "failed", error: TOO_LARGE });
  }

  async function read(tenant: string, id: string): Promise<StoredResponse | undefined> {
    const entry = await responses.get(tenant, id);
    if (entry === undefined || !isInFlight(entry.response)) return entry;
    if (now() - entry.storedAt < DEAD_AFTER_MS) return entry;
    return rewrite(tenant, entry, { status: "failed", error: DEATH });
  }

  async function rewrite(
    tenant: string,
    entry: StoredResponse,
    changed: Readonly<Record<string, unknown>> & { readonly status: string },
  ): Promise<StoredResponse> {
    const next = { ...entry, response: { ...entry.response, ...changed }, storedAt: now() };
    await responses.put(tenant, next, { store: true, earlier: [] });
    return next;
  }

  async function* follow(
    tenant: string,
    id: string,
    startingAfter: number,
    signal: AbortSignal,
  ): AsyncGenerator<ResponseEvent> {
    let sequence = 0;
    let polls = 0;
    for (let piece = 0; ;) {
      const events = await log.read(tenant, id, piece);
      if (events !== undefined) {
        piece++;
        polls = 0;
        for (const event of events) {
          if (sequence++ > startingAfter) yield event;
          if (TERMINAL.has(event.type)) return;
        }
        continue;
      }
      const entry = await read(tenant, id);
      if (entry === undefined || signal.aborted) return;
      const { status } = entry.response;
      if (status === "cancelled" && polls++ > 0) {
        yield cancellationOf(entry, sequence);
        return;
      }
      // The last events are written after the response itself.
      if (!isInFlight(entry.response) && polls++ >= POLLS_AFTER_END) {
        if (status !== "failed") throw lostEvents(id);
        yield* deathOf(entry, sequence);
        return;
      }
      await sleep(POLL_MS, signal);
    }
  }

  async function cancel(tenant: string, id: string): Promise<StoredResponse> {
    const entry = await read(tenant, id);
    if (entry === undefined) throw unknownResponse(id);
    if (entry.response["background"] !== true) {
      throw new RequestError(`The response ${id} is not a background response.`);
    }
    if (entry.response.status === "cancelled") return entry;
    if (!isInFlight(entry.response)) {
      throw new RequestError(`The response ${id} has already ended: ${entry.response.status}.`);
    }
    const own = running.get(id);
    if (own?.tenant === tenant) {
      own.abort.abort();
      await own.ended;
      return (await read(tenant, id)) ?? entry;
    }
    await cancelled.set("cancelled", tenant, id);
    return rewrite(tenant, entry, { status: "cancelled" });
  }
}

/** Runs the response. Rejects when its end could not be stored. */
async function make(
  streamed: StreamedResponse,
  context: ResponsesContext,
  backgroundWriter: BackgroundWriter,
  abort: AbortController,
): Promise<void> {
  const { writer, builder } = streamed;
  const { stopping } = context.shutdown;
  const keep = () => persist(() => backgroundWriter.keep(), stopping);
  const flush = () => persist(() => backgroundWriter.flush(), stopping);
  let ticks = 0;
  let isBusy = false;
  const timer = setInterval(() => {
    // No further writes while a slow store is still busy with the last ones.
    if (isBusy) return;
    isBusy = true;
    void backgroundWriter
      .flush()
      .then(() =>
        ++ticks % TICKS_PER_HEARTBEAT === 0 ? backgroundWriter.heartbeat(abort) : undefined,
      )
      .catch(ignoreStoreFailure)
      .finally(() => (isBusy = false));
  }, FLUSH_MS);
  try {
    await consume(streamResponse(streamed, context, abort.signal, keep), (event) => {
      backgroundWriter.add([event]);
      return true;
    });
  } catch (error) {
    if (abort.signal.aborted) builder.cancel();
    else backgroundWriter.add(writer.fail(describeError(error)));
    await flush();
    await keep();
  } finally {
    clearInterval(timer);
  }
  await flush();
}

/** Waits between attempts to write the end of a response. */
const RETRY_MS = [250, 500, 1000, 2000, 4000];

/** Retries while the store does not answer, because the response is complete and only has to be written. */
async function persist(write: () => Promise<void>, stopping: AbortSignal): Promise<void> {
  for (const wait of RETRY_MS) {
    try {
      return await write();
    } catch (error) {
      const mayPass = error instanceof StoreError && error.kind === "unavailable";
      if (!mayPass || stopping.aborted) throw error;
    }
    await sleep(wait, stopping);
  }
  return write();
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

const TERMINAL: ReadonlySet<string> = new Set([
  "response.completed",
  "response.incomplete",
  "response.failed",
]);

export function unknownResponse(id: string): RequestError {
  return new RequestError(`There is no response with the id ${JSON.stringify(id)}.`, {
    status: 404,
    type: "not_found_error",
    errorType: "response_not_found",
  });
}

function lostEvents(id: string): RequestError {
  return new RequestError(`The events of the response ${id} have expired.`, {
    status: 404,
    type: "not_found_error",
    errorType: "events_not_found",
  });
}

/** The API has no event for a cancellation: the response in this one says `cancelled`, so that no stream just stops. */
function cancellationOf({ response }: StoredResponse, sequence: number): ResponseEvent {
  const event = { type: "response.incomplete", sequence_number: sequence, response };
  return { type: event.type, json: JSON.stringify(event) };
}

/** The last events of a response whose process has died before writing them. */
function deathOf({ response }: StoredResponse, sequence: number): ResponseEvent[] {
  const members = toErrorMembers({ ...DEATH, type: "server_error", param: null });
  return [
    { type: "error", sequence_number: sequence, ...members },
    { type: "response.failed", sequence_number: sequence + 1, response },
  ].map((event) => ({ type: event.type, json: JSON.stringify(event) }));
}
