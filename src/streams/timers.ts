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

/**
 * Resolves when the work has ended, or after the delay. The timer belongs to the caller: on Workers, the work of a
 * cancelled request never ends, and its timers never fire.
 */
export async function waitAtMost(work: Promise<unknown>, milliseconds: number): Promise<void> {
  if (milliseconds <= 0) return;
  const waiting = new AbortController();
  try {
    await Promise.race([work, sleep(milliseconds, waiting.signal)]);
  } finally {
    waiting.abort();
  }
}

/** Lets other work on the event loop run. */
export function yieldToEventLoop(): Promise<void> {
  return sleep(0);
}
