/** Counts the open WebSockets of each tenant: each may hold messages of the maximum size in memory. */
import { partOf, type ProcessState } from "../../lazy.ts";
import { RequestError } from "../errors.ts";

export interface OpenSockets {
  /** @throws RequestError when the tenant has reached the limit. */
  check(tenant: string): void;
  /** Counts one more until the returned function is called. Calling that again has no effect. */
  enter(tenant: string): () => void;
}

/** @param state in it, those of all generations of settings are counted. */
export function createOpenSockets(
  maxOf: (tenant: string) => number,
  state?: ProcessState,
): OpenSockets {
  const open = openIn(state);
  const countOf = (tenant: string) => open.get(tenant) ?? 0;
  return {
    check(tenant) {
      const own = countOf(tenant);
      if (own < maxOf(tenant)) return;
      throw new RequestError(
        `This key has reached its limit of ${own} open WebSockets. Close one, or send the request with POST.`,
        { status: 429, type: "rate_limit_error", errorType: "rate_limit_exceeded", retryAfter: 1 },
      );
    },
    enter(tenant) {
      open.set(tenant, countOf(tenant) + 1);
      let isOpen = true;
      return () => {
        if (!isOpen) return;
        isOpen = false;
        const left = countOf(tenant) - 1;
        if (left > 0) open.set(tenant, left);
        else open.delete(tenant);
      };
    },
  };
}

/** Their number, by tenant. */
const openIn = partOf(() => new Map<string, number>());
