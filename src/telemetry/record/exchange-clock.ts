/** The time since a request was accepted. */
import type { RecentClock } from "./recent-clock.ts";
import { fromTenths, tenthsBetween } from "./tenths.ts";

export class ExchangeClock {
  /** That of all records. */
  readonly shared: RecentClock;
  /** By that clock. */
  readonly #start: number;

  constructor(shared: RecentClock) {
    this.shared = shared;
    this.#start = shared.now();
  }

  /** In milliseconds, to a tenth. */
  now(): number {
    return this.#since(this.shared.now());
  }

  /** The same, or while it is asked for very often, a time up to seven milliseconds ago. */
  recent(): number {
    return this.#since(this.shared.recent());
  }

  /** The tenths of a millisecond until a time of the shared clock. */
  tenthsUntil(at: number): number {
    return tenthsBetween(this.#start, at);
  }

  #since(at: number): number {
    return fromTenths(this.tenthsUntil(at));
  }
}
