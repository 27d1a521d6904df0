/** The time since a request was accepted. */
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
    return Math.round((at - this.#start) * 10) / 10;
  }
}
