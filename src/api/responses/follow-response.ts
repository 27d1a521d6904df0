/**
 * Follows a background response: its stored events, its future events, and a last event, which is made from the stored
 * response. The response may run in any process with the same store, so the store is polled.
 */
import * as z from "zod";
import type { GuardedStore } from "../../store/guarded-store.ts";
import { StoreError } from "../../store/store-error.ts";
import { sleep } from "../../streams/timers.ts";
import type { Client } from "../request/client.ts";
import { describeError, RequestError } from "../errors.ts";
import { toErrorMembers, toResponsesError } from "./errors.ts";
import type { EventLog } from "./background-writer.ts";
import { isInFlight, type StoredResponse } from "./response-store.ts";
import { showResponse } from "./to-client.ts";
import type { ResponseEvent } from "./to-events.ts";

/** Interval of looking up new events. */
const POLL_MS = 100;
/** Interval of looking up the response itself, which may be long, if its end is not known otherwise. */
const LOOK_MS = 500;
/** The interval of looking up the response, in paces of the store. */
const PACES_OF_LOOK = 5;
/**
 * Time for which missing or unreadable entries are looked up again: longer than a heartbeat interval, after which they
 * are rewritten.
 */
const PATIENCE_MS = 5000;

export interface FollowOptions {
  readonly id: string;
  readonly client: Client;
  /** The sequence number of the last event that the client has received. */
  readonly startingAfter: number;
  readonly signal: AbortSignal;
}

export interface FollowDeps {
  readonly log: EventLog;
  readonly read: (tenant: string, id: string) => Promise<StoredResponse | undefined>;
  /** The number of stored pieces of events. Undefined: the response is not in flight in this process. */
  readonly piecesHere: (id: string) => number | undefined;
  /** Monotonic, in milliseconds. */
  readonly clock: () => number;
  readonly store: Pick<GuardedStore, "staleMs" | "paceMs">;
}

/** A failure before the first event rejects. A later one is the last event. */
export async function* followResponse(
  options: FollowOptions,
  deps: FollowDeps,
): AsyncGenerator<ResponseEvent> {
  let sequence = 0;
  let hasBegun = false;
  try {
    for await (const event of readEvents(options, deps)) {
      if (sequence++ <= options.startingAfter) continue;
      hasBegun = true;
      yield event;
    }
  } catch (error) {
    if (!hasBegun) throw error;
    yield toEvent("error", sequence, toErrorMembers(toResponsesError(describeError(error))));
  }
}

/** All events from the first one on. */
async function* readEvents(
  { id, client, signal }: FollowOptions,
  deps: FollowDeps,
): AsyncGenerator<ResponseEvent> {
  const { log, piecesHere, clock, store } = deps;
  const { tenant } = client;
  const patienceMs = PATIENCE_MS + store.staleMs;
  const pollMs = Math.max(POLL_MS, store.paceMs);
  const lookMs = Math.max(LOOK_MS, PACES_OF_LOOK * store.paceMs);
  const patiently = createPatience(patienceMs, clock, signal);
  const existing = async () => {
    const entry = await deps.read(tenant, id);
    if (entry === undefined) throw unknownResponse(id);
    return entry;
  };
  let sequence = 0;
  let piece = 0;
  let lookAt = -Infinity;
  let giveUpAt = Infinity;
  for (let ended: StoredResponse | undefined; !signal.aborted;) {
    const written = piecesHere(id);
    if (written !== undefined && written <= piece) {
      await sleep(POLL_MS, signal);
      lookAt = -Infinity;
      continue;
    }
    const events = await patiently(() => log.read(tenant, id, piece));
    if (events !== undefined) {
      piece += 1;
      sequence += events.length;
      // While events arrive, the response has not ended.
      if (lookAt !== -Infinity) lookAt = clock() + lookMs;
      yield* events;
    } else if (ended?.events !== undefined && ended.events > sequence && clock() < giveUpAt) {
      await sleep(pollMs, signal);
    } else if (ended !== undefined) {
      yield* lastEvents(ended, sequence, client);
      return;
    } else if (clock() < lookAt) {
      await sleep(pollMs, signal);
    } else {
      const entry = await patiently(existing);
      lookAt = clock() + lookMs;
      // All events are stored before the end, but perhaps after the last read here.
      if (!isInFlight(entry.response)) ended = entry;
      // Missing events are waited for only if some have been read.
      giveUpAt = sequence === 0 ? -Infinity : clock() + patienceMs;
    }
  }
}

/** Repeats a failing look-up for `patienceMs`. */
function createPatience(patienceMs: number, clock: () => number, signal: AbortSignal) {
  return async <T>(lookUp: () => Promise<T>): Promise<T> => {
    const giveUpAt = clock() + patienceMs;
    for (;;) {
      try {
        return await lookUp();
      } catch (error) {
        const mayPass = error instanceof StoreError || error instanceof RequestError;
        if (!mayPass || signal.aborted || clock() >= giveUpAt) throw error;
      }
      await sleep(LOOK_MS, signal);
    }
  };
}

export function unknownResponse(id: string): RequestError {
  return new RequestError(`There is no response with the id ${JSON.stringify(id)}.`, {
    status: 404,
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
    errorType: "events_not_found",
  });
}

/**
 * The events after the stored ones. Throws a {@link RequestError} when stored events are missing.
 *
 * The number of events is absent if the response could not write its own end: its process has died, it became too
 * large, or another gateway cancelled it.
 */
function lastEvents(entry: StoredResponse, sequence: number, client: Client): ResponseEvent[] {
  const { response, events } = entry;
  if (events !== undefined && events !== sequence) throw lostEvents(response.id);
  const { status } = response;
  const { error } = storedFailure.parse(response);
  // The API has no event for a cancellation. The event is `response.incomplete` with the status `cancelled`, so that
  // the stream does not just stop.
  const type = status === "cancelled" ? "response.incomplete" : `response.${status}`;
  const shown = { response: showResponse(response, client) };
  if (events !== undefined || error == null) return [toEvent(type, sequence, shown)];
  const members = toErrorMembers({ ...error, type: "server_error", param: null });
  return [toEvent("error", sequence, members), toEvent(type, sequence + 1, shown)];
}

function toEvent(type: string, sequence: number, members: object): ResponseEvent {
  return { type, json: JSON.stringify({ type, sequence_number: sequence, ...members }) };
}
