/** Counts the open WebSockets of each tenant: each may hold messages of the maximum size in memory. */
import { partOf, type ProcessState } from "../../lazy.ts";
import { RequestError } from "../errors.ts";

export class OpenSockets {
  readonly #maxOf: (tenant: string) => number;
  readonly #open: Map<string, number>;

  /** @param state in it, those of all generations of settings are counted. */
  constructor(maxOf: (tenant: string) => number, state?: ProcessState) {
    this.#maxOf = maxOf;
    this.#open = openIn(state);
  }

  /** @throws RequestError when the tenant has reached the limit. */
  check(tenant: string): void {
    const own = this.#countOf(tenant);
    if (own < this.#maxOf(tenant)) return;
    throw new RequestError(
      `This key has reached its limit of ${own} open WebSockets. Close one, or send the request with POST.`,
      { status: 429, type: "rate_limit_error", errorType: "rate_limit_exceeded", retryAfter: 1 },
    );
  }

  /** Counts one more until the returned function is called. Calling that again has no effect. */
  enter(tenant: string): () => void {
    this.#open.set(tenant, this.#countOf(tenant) + 1);
    let isOpen = true;
    return () => {
      if (!isOpen) return;
      isOpen = false;
      const left = this.#countOf(tenant) - 1;
      if (left > 0) this.#open.set(tenant, left);
      else this.#open.delete(tenant);
    };
  }

  #countOf(tenant: string): number {
    return this.#open.get(tenant) ?? 0;
  }
}

/** Their number, by tenant. */
const openIn = partOf(() => new Map<string, number>());
