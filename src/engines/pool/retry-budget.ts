/**
 * Limits concurrent retries after error answers of a backend to a share of the in-flight completions, so that retries cannot
 * double the load of overloaded backends.
 *
 * A retry counts until its first token. If the budget is used up, a retry waits until another one has its first token.
 */
import { Wait } from "../../streams/waiting.ts";
import type { Clock } from "../clock.ts";

export interface RetryBudgetOptions {
  readonly inFlight: () => number;
  /** Maximum waiting retries, and their maximum wait. */
  readonly maxWaiting: number;
  readonly timeoutMs: number;
  readonly clock: Clock;
}

/** Releases a retry. Idempotent. */
export type ReleaseRetry = () => void;

const SHARE = 0.2;
/** The minimum: with few completions in flight, the share would be zero. */
const AT_LEAST = 10;

export class RetryBudget {
  #options: RetryBudgetOptions;
  /** In-flight retries without a token so far, by tenant. */
  readonly #acquired = new Map<string, number>();
  /** Waiting retries with their tenants, oldest first. */
  readonly #waiting = new Map<RetryWait, string>();

  constructor(options: RetryBudgetOptions) {
    this.#options = options;
  }

  /** Sets other limits, for retries from now on. */
  limit(limits: Pick<RetryBudgetOptions, "maxWaiting" | "timeoutMs">): void {
    this.#options = { ...this.#options, ...limits };
  }

  /** Number of retries that wait for room. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /**
   * Acquires a retry. Undefined: the budget has no room in time. Rejects with the signal's reason if it aborts.
   */
  async acquire(tenant: string, signal: AbortSignal): Promise<ReleaseRetry | undefined> {
    signal.throwIfAborted();
    if (this.#hasRoom(tenant)) return this.#grant(tenant);
    if (this.#waiting.size >= this.#options.maxWaiting) return undefined;
    return this.#wait(tenant, signal);
  }

  /** Whether the tenant may retry. One tenant gets at most half: its requests may be the cause of the errors. */
  #hasRoom(tenant: string): boolean {
    const room = Math.max(AT_LEAST, SHARE * this.#options.inFlight());
    const all = [...this.#acquired.values()].reduce((sum, each) => sum + each, 0);
    return all < room && (this.#acquired.get(tenant) ?? 0) < room / 2;
  }

  #grant(tenant: string): ReleaseRetry {
    this.#acquired.set(tenant, (this.#acquired.get(tenant) ?? 0) + 1);
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      const left = (this.#acquired.get(tenant) ?? 0) - 1;
      if (left > 0) this.#acquired.set(tenant, left);
      else this.#acquired.delete(tenant);
      this.#admitNext();
    };
  }

  #admitNext(): void {
    for (const [wait, tenant] of this.#waiting) {
      if (!this.#hasRoom(tenant)) continue;
      wait.grant(this.#grant(tenant));
      return;
    }
  }

  #wait(tenant: string, signal: AbortSignal): Promise<ReleaseRetry | undefined> {
    const { clock, timeoutMs } = this.#options;
    const wait: RetryWait = new Wait(signal, () => this.#waiting.delete(wait));
    wait.limit(clock.after(timeoutMs, () => wait.grant(undefined)));
    this.#waiting.set(wait, tenant);
    return wait.promise;
  }
}

type RetryWait = Wait<ReleaseRetry | undefined>;
