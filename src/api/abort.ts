/** Ending a turn: because the client has left, or for a reason of the route's own. */

/**
 * A controller that the signal of a request aborts as well, with its reason. `AbortSignal.any` says the same and
 * takes 9 µs instead of 0.7, because what it makes is watched by the garbage collector.
 */
export function createAbort(request: AbortSignal): AbortController {
  const abort = new AbortController();
  if (request.aborted) abort.abort(request.reason);
  else request.addEventListener("abort", () => abort.abort(request.reason), { once: true });
  return abort;
}
