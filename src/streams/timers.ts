/** Waiting by timers, which every runtime has. */

/** Resolves after a time or, at once, when the signal is aborted. */
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

/** Lets other work of the event loop run first. */
export function yieldToEventLoop(): Promise<void> {
  return sleep(0);
}
