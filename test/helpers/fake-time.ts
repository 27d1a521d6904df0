/** Fake time, which passes only when a test advances it. */
import { createHash } from "node:crypto";
import { afterEach, beforeEach, vi } from "vitest";

/** Replaces timers and clocks in each test of a file. */
export function useFakeTime(): void {
  beforeEach(() => {
    vi.useFakeTimers({ now: 1_700_000_000_000 });
    // The real digest runs in another thread, at an unpredictable time.
    vi.spyOn(crypto.subtle, "digest").mockImplementation(async (_, text) => {
      const bytes = ArrayBuffer.isView(text) ? new Uint8Array(text.buffer) : new Uint8Array(text);
      return new Uint8Array(createHash("sha256").update(bytes).digest()).buffer;
    });
  });
  afterEach(() => {
    vi.restoreAllMocks();
    vi.useRealTimers();
  });
}

/** Advances time until the promise has settled. */
export async function settled<T>(promise: Promise<T>, stepMs = 1): Promise<T> {
  const state = { isSettled: false };
  const settle = () => (state.isSettled = true);
  promise.then(settle, settle);
  for (let steps = 0; !state.isSettled && steps < 200_000; steps++) {
    await vi.advanceTimersByTimeAsync(stepMs);
  }
  return promise;
}
