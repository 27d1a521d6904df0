/**
 * The clock of an exchange. What is written for a read is written at once, so both have one time: to ask for it costs as
 * much as everything else that is recorded of a token.
 */
export class ReadTimes {
  readonly now: () => number;
  #readMs = 0;
  /** Nothing has been written since the last read. */
  #isFresh = false;

  /** @param now milliseconds since the request was accepted. */
  constructor(now: () => number) {
    this.now = now;
  }

  /** The time of a read. */
  read(): number {
    this.#isFresh = true;
    return (this.#readMs = this.now());
  }

  /** The time of something that is written, perhaps because of the last read. */
  written(): number {
    if (!this.#isFresh) return this.now();
    this.#isFresh = false;
    return this.#readMs;
  }

  /** What is written next comes later than the last read. */
  pass(): void {
    this.#isFresh = false;
  }
}
