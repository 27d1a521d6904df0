/**
 * Writes a background response and its events to the store while it runs. Writes are serialised, so an older state never
 * overwrites a newer one. What could not be written is written with the next attempt.
 */
import type { ResponsesContext } from "./context.ts";
import { keepResponse, type PendingResponse } from "./create-response.ts";
import type { EventLog } from "./event-log.ts";
import { isInFlight } from "./response-store.ts";
import type { ResponseEvent } from "./to-events.ts";

export interface BackgroundWriter {
  /** Events to be written with the next flush. */
  add(events: readonly ResponseEvent[]): void;
  /** Rejects when the store fails; the events stay for the next flush. */
  flush(): Promise<void>;
  /** Writes its first events, then the response as queued. Rejects when the store fails. */
  accept(): Promise<void>;
  /** Writes the response as ended. Its events must have been written. Rejects when the store fails. */
  end(): Promise<void>;
  /** Writes the response as a heartbeat, or aborts it if a cancellation was requested. */
  heartbeat(abort: AbortController): Promise<void>;
}

export interface BackgroundWriterDeps {
  readonly log: EventLog;
  /** Whether a cancellation was requested, at this gateway or at another one. */
  readonly isCancelled: () => Promise<boolean>;
}

export function createBackgroundWriter(
  pending: PendingResponse,
  context: ResponsesContext,
  { log, isCancelled }: BackgroundWriterDeps,
): BackgroundWriter {
  const { tenant } = pending.caller.client;
  let waiting: ResponseEvent[] = [];
  let pieces = 0;
  let written = 0;
  let last = Promise.resolve();
  const next = (write: () => Promise<void>) => {
    const done = last.then(write);
    last = done.catch(() => {});
    return done;
  };
  async function flush(): Promise<void> {
    while (waiting.length > 0) {
      const events = firstPiece(waiting);
      await log.write(tenant, pending.id, pieces, events);
      pieces += 1;
      written += events.length;
      waiting = waiting.slice(events.length);
    }
  }

  return {
    add(events) {
      waiting.push(...events);
    },
    flush: () => next(flush),
    accept: () => next(() => flush().then(() => keepResponse(pending, context))),
    end: () => next(() => keepResponse(pending, context, written)),
    heartbeat: (abort) =>
      next(async () => {
        if (await isCancelled()) abort.abort();
        else if (isInFlight(pending.builder.response())) await keepResponse(pending, context);
      }),
  };
}

/** Maximum characters per entry: after an outage many events may be pending. */
const MAX_PIECE = 1_000_000;

/** A copy, because more events are added while it is written. */
function firstPiece(events: readonly ResponseEvent[]): readonly ResponseEvent[] {
  let size = 0;
  const end = events.findIndex(({ json }) => (size += json.length) > MAX_PIECE);
  return end === -1 ? [...events] : events.slice(0, Math.max(end, 1));
}
