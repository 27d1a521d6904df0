import { vi } from "vitest";

/**
 * Returns the result of `attempt` as soon as it no longer throws. The limit is generous for a busy machine: a passing
 * test ends long before it.
 */
export function eventually<T>(attempt: () => T | Promise<T>): Promise<T> {
  return vi.waitFor(attempt, { timeout: 60_000, interval: 20 });
}
