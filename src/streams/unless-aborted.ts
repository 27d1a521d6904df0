/**
 * The promise's result, or an error as soon as the signal aborts. The work continues: other callers may wait for it.
 *
 * @param toError makes the error from the signal's reason. Default: the reason itself.
 */
export function unlessAborted<T>(
  promise: Promise<T>,
  signal: AbortSignal,
  toError: (reason: unknown) => unknown = (reason) => reason,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(toError(signal.reason));
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}
