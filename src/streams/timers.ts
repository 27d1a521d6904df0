/** Timer helpers that work on every runtime. */

/** Resolves after the delay, or as soon as the signal is aborted. */
export function sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) {
      resolve();
      return;
    }
    const timer = setTimeout(done, milliseconds);
    signal?.addEventListener("abort", done, { once: true });
    function done(): void {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      resolve();
    }
  });
}

/** Lets other work on the event loop run. */
export function yieldToEventLoop(): Promise<void> {
  return sleep(0);
}
