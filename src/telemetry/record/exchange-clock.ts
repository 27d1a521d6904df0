/** The time since a request was accepted. */
import { fromTenths } from "./tenths.ts";

export class ExchangeClock {
  readonly #clock: () => number;
  readonly #start: number;

  /** @param clock milliseconds; only differences are used. */
  constructor(clock: () => number) {
    this.#clock = clock;
    this.#start = clock();
  }

  /** In milliseconds, to a tenth. */
  now(): number {
    return this.since(this.#clock());
  }

  /** Of a time by the clock. */
  since(at: number): number {
    return fromTenths(this.tenthsSince(at));
  }

  /** The same as a whole number of tenths, as records keep it. */
  tenthsSince(at: number): number {
    return Math.round((at - this.#start) * 10);
  }
}
