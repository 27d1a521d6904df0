import { vi } from "vitest";

/**
 * Counts the timers that are set for one of these delays from now on, and not cleared. `vi.getTimerCount` counts the
 * timers of the whole process: a connection left open by an earlier file, for instance, may set one too.
 *
 * @param delays in milliseconds, not used by other timers.
 */
export function countPendingTimers(...delays: readonly number[]): () => number {
  const set = [vi.spyOn(globalThis, "setTimeout"), vi.spyOn(globalThis, "setInterval")];
  const cleared = [vi.spyOn(globalThis, "clearTimeout"), vi.spyOn(globalThis, "clearInterval")];
  return () => {
    const gone = new Set<unknown>(
      cleared.flatMap(({ mock }) => mock.calls.map(([timer]) => timer)),
    );
    const pending = set.flatMap(({ mock }) =>
      mock.results.filter(({ value }, at) => {
        return delays.includes(mock.calls[at]?.[1] ?? NaN) && !gone.has(value);
      }),
    );
    return pending.length;
  };
}
