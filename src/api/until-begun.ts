/** Holding back the status line until the engine has accepted, so that its refusal can still be a status. */
import { createFlow, type Flow, forEachOf, type Take } from "../flow.ts";

/**
 * Waits for the first event. Throws what fails before it; after `patienceMs` without one, goes on regardless,
 * because a client must not wait for headers as long as a model may take to load. The result gives all events, the
 * first included.
 */
export async function untilBegun<T>(
  events: AsyncIterable<T>,
  patienceMs: number,
): Promise<Flow<T>> {
  const begun = Promise.withResolvers<void>();
  const reader = Promise.withResolvers<Take<T>>();
  let take: Take<T> | undefined;
  const ended = forEachOf(events, (event) => {
    if (take !== undefined) return take(event);
    begun.resolve();
    return reader.promise.then((reads) => reads(event));
  });
  ended.then(begun.resolve, begun.reject);

  const timer = setTimeout(begun.resolve, patienceMs);
  try {
    await begun.promise;
  } finally {
    clearTimeout(timer);
  }
  return createFlow((reads) => {
    take = reads;
    reader.resolve(reads);
    return ended;
  });
}
