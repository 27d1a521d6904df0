/**
 * Signals that follow others. `AbortSignal.any` is missing in edge runtimes, and takes 9 µs instead of 0.7, because the
 * garbage collector tracks the signals that it creates.
 */

/**
 * Aborts the controller with the signal. Returns a function that stops following: a signal may outlive many followers.
 */
export function followSignal(abort: AbortController, signal: AbortSignal): () => void {
  const follow = () => abort.abort(signal.reason);
  if (signal.aborted) follow();
  else signal.addEventListener("abort", follow, { once: true });
  return () => signal.removeEventListener("abort", follow);
}

/** Runs with a signal that is aborted with the given one, or by a `TimeoutError` after the given milliseconds. */
export async function withDeadline<T>(
  signal: AbortSignal,
  ms: number,
  run: (limited: AbortSignal) => Promise<T>,
): Promise<T> {
  const abort = new AbortController();
  const release = followSignal(abort, signal);
  const timer = setTimeout(() => {
    abort.abort(new DOMException(`It took longer than ${ms} ms.`, "TimeoutError"));
  }, ms);
  try {
    return await run(abort.signal);
  } finally {
    clearTimeout(timer);
    release();
  }
}

/** A controller that follows the signal of a request. */
export function createAbort(request: AbortSignal): AbortController {
  const abort = new AbortController();
  followSignal(abort, request);
  return abort;
}
