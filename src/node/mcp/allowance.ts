/** A token bucket: a maximum, and an amount regained each second. Monotonic clock, in milliseconds. */
export class Allowance {
  readonly #most: number;
  readonly #perSecond: number;
  readonly #now: () => number;
  #left: number;
  #at: number;

  constructor(most: number, perSecond: number, now: () => number = () => performance.now()) {
    this.#most = most;
    this.#perSecond = perSecond;
    this.#now = now;
    this.#left = most;
    this.#at = now();
  }

  /** Takes an amount. False: less than this is left, and nothing was taken. */
  take(amount: number): boolean {
    const now = this.#now();
    const regained = ((now - this.#at) / 1000) * this.#perSecond;
    this.#left = Math.min(this.#most, this.#left + regained);
    this.#at = now;
    if (amount > this.#left) return false;
    this.#left -= amount;
    return true;
  }
}
