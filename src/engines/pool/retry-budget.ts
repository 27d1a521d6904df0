/**
 * How many completions may be retried at a time after an error that a backend has answered with: a share of those in
 * flight, so that retries cannot double the load of backends that fail because they have too much of it.
 */
const SHARE = 0.2;
/** Where little is in flight, a share of it would be none. */
const AT_LEAST = 3;

export class RetryBudget {
  #taken = 0;

  /** Takes a retry out of it, if there is one. To be given back when the completion has ended. */
  tryTake(inFlight: number): boolean {
    if (this.#taken >= Math.max(AT_LEAST, SHARE * inFlight)) return false;
    this.#taken += 1;
    return true;
  }

  giveBack(): void {
    this.#taken -= 1;
  }
}
