/**
 * Counts the work of one check in steps. A step is one schema applied to one value, one thread of a pattern
 * advanced by one character, or one member compared: ten to a hundred nanoseconds.
 */
export class Work {
  readonly #most: number;
  readonly #slice: number;
  #steps = 0;
  #pauseAt: number;

  constructor(most: number, slice: number) {
    this.#most = most;
    this.#slice = slice;
    this.#pauseAt = slice;
  }

  get steps(): number {
    return this.#steps;
  }

  /** Throws {@link TooMuchWork} when the budget is exceeded. */
  spend(steps: number): void {
    this.#steps += steps;
    if (this.#steps > this.#most) throw new TooMuchWork();
  }

  /** Whether the slice is used up, so that other work should run. */
  get due(): boolean {
    return this.#steps >= this.#pauseAt;
  }

  startSlice(): void {
    this.#pauseAt = this.#steps + this.#slice;
  }
}

/** Thrown if the check exceeds its budget, or the value is nested too deeply. */
export class TooMuchWork extends Error {}

/** Interruptible work: yields where another slice should begin. */
export type Sliced<T> = Generator<void, T, void>;
