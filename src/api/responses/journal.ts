/**
 * What is written of a response while it is made in the background. Writes come one after the other: an older state never
 * comes after a newer one.
 */
import type { ResponsesContext } from "./context.ts";
import { keepResponse, type PendingResponse } from "./create-response.ts";
import type { EventLog } from "./event-log.ts";
import { isUnderWay } from "./response-store.ts";
import type { ResponseEvent } from "./to-events.ts";

export interface Journal {
  /** Events to be written with the next flush. */
  add(events: readonly ResponseEvent[]): void;
  flush(): Promise<void>;
  /** Writes the response as it is. */
  keep(): Promise<void>;
  /** Shows that it is still being made, and aborts if it is not wanted any more. */
  beat(abort: AbortController): Promise<void>;
}

export interface JournalDeps {
  readonly log: EventLog;
  /** Somebody wants it stopped, at this gateway or at another. */
  readonly isCancelled: () => Promise<boolean>;
}

export function createJournal(
  pending: PendingResponse,
  context: ResponsesContext,
  { log, isCancelled }: JournalDeps,
): Journal {
  const { tenant } = pending.caller.client;
  let waiting: ResponseEvent[] = [];
  let pieces = 0;
  let last = Promise.resolve();
  const next = (write: () => Promise<void>) => (last = last.then(write));

  return {
    add(events) {
      waiting.push(...events);
    },
    flush: () =>
      next(async () => {
        const events = waiting;
        waiting = [];
        if (events.length > 0) await log.write(tenant, pending.id, pieces++, events);
      }),
    keep: () => next(() => keepResponse(pending, context)),
    beat: (abort) =>
      next(async () => {
        if (await isCancelled()) abort.abort();
        else if (isUnderWay(pending.writer.response)) await keepResponse(pending, context);
      }),
  };
}
