import { vi } from "vitest";

/**
 * What `attempt` gives as soon as it no longer throws. The limit is for a machine that is busy: a test that holds ends
 * long before it.
 */
export function eventually<T>(attempt: () => T | Promise<T>): Promise<T> {
  return vi.waitFor(attempt, { timeout: 20_000, interval: 20 });
}
