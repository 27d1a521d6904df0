/** Aborts a turn when its client disconnects, or for a reason of the route. */

/**
 * A controller that follows the signal of a request. `AbortSignal.any` does the same in 9 µs instead of 0.7, because the
 * garbage collector tracks the signals it creates.
 */
export function createAbort(request: AbortSignal): AbortController {
  const abort = new AbortController();
  if (request.aborted) abort.abort(request.reason);
  else request.addEventListener("abort", () => abort.abort(request.reason), { once: true });
  return abort;
}
