/** The time since a request was accepted. */
import { fromTenths, wholeTenths } from "./tenths.ts";

export class ExchangeClock {
  readonly #clock: () => number;
  /** By the clock, in tenths of a millisecond. */
  readonly start: number;

  /** @param clock milliseconds; only differences are used. */
  constructor(clock: () => number) {
    this.#clock = clock;
    this.start = wholeTenths(clock());
  }

  /** In milliseconds, to a tenth. */
  now(): number {
    return this.since(wholeTenths(this.#clock()));
  }

  /** The same of a time by the clock, in tenths of a millisecond. */
  since(at: number): number {
    return fromTenths(at - this.start);
  }
}
