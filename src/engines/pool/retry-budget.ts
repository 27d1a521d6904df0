/**
 * How many completions may be retried at a time after an error that a backend has answered with: a share of those in
 * flight, so that retries cannot double the load of backends that fail because they have too much of it.
 *
 * A retry counts until its first token: from then on it is a completion like any other. One that finds the budget used
 * up waits until another has got that far.
 */
import type { Clock } from "../clock.ts";

export interface RetryBudgetOptions {
  readonly inFlight: () => number;
  /** How many retries may wait, and for how long. */
  readonly maxWaiting: number;
  readonly timeoutMs: number;
  readonly clock: Clock;
}

/** Gives a retry back. A second call does nothing. */
export type GiveBack = () => void;

const SHARE = 0.2;
/** Where little is in flight, a share of it would be none. */
const AT_LEAST = 10;

export class RetryBudget {
  readonly #options: RetryBudgetOptions;
  /** Retries that have no token yet, by tenant. */
  readonly #taken = new Map<string, number>();
  readonly #waiting = new Set<Waiter>();

  constructor(options: RetryBudgetOptions) {
    this.#options = options;
  }

  /** Undefined when there is no room for one in time. Rejects with the signal's reason when that aborts. */
  async take(tenant: string, signal: AbortSignal): Promise<GiveBack | undefined> {
    signal.throwIfAborted();
    if (this.#hasRoom(tenant)) return this.#grant(tenant);
    if (this.#waiting.size >= this.#options.maxWaiting) return undefined;
    return this.#wait(tenant, signal);
  }

  /** One tenant gets at most half: its requests may be what backends answer with errors, or never begin to answer. */
  #hasRoom(tenant: string): boolean {
    const room = Math.max(AT_LEAST, SHARE * this.#options.inFlight());
    const all = [...this.#taken.values()].reduce((sum, each) => sum + each, 0);
    return all < room && (this.#taken.get(tenant) ?? 0) < room / 2;
  }

  #grant(tenant: string): GiveBack {
    this.#taken.set(tenant, (this.#taken.get(tenant) ?? 0) + 1);
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      const left = (this.#taken.get(tenant) ?? 0) - 1;
      if (left > 0) this.#taken.set(tenant, left);
      else this.#taken.delete(tenant);
      this.#admitNext();
    };
  }

  #admitNext(): void {
    for (const waiter of this.#waiting) {
      if (!this.#hasRoom(waiter.tenant)) continue;
      waiter.settle(this.#grant(waiter.tenant));
      return;
    }
  }

  #wait(tenant: string, signal: AbortSignal): Promise<GiveBack | undefined> {
    const { clock, timeoutMs } = this.#options;
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        cancel();
        signal.removeEventListener("abort", onAbort);
        this.#waiting.delete(waiter);
      };
      const waiter: Waiter = {
        tenant,
        settle: (giveBack) => {
          leave();
          resolve(giveBack);
        },
      };
      const onAbort = (): void => {
        leave();
        reject(signal.reason);
      };
      const cancel = clock.after(timeoutMs, () => waiter.settle(undefined));
      signal.addEventListener("abort", onAbort, { once: true });
      this.#waiting.add(waiter);
    });
  }
}

interface Waiter {
  readonly tenant: string;
  settle(giveBack: GiveBack | undefined): void;
}
