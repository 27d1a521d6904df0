/** Waits in a queue, until granted, refused or aborted. */

/**
 * The wait of one caller for a value. Its owner keeps the wait in a queue, and grants or refuses it. A signal that is
 * already aborted does not end the wait and must be checked first.
 */
export class Wait<T> {
  readonly promise: Promise<T>;
  readonly #settle: PromiseWithResolvers<T>;
  readonly #signal: AbortSignal;
  readonly #leave: () => void;
  #cancel: (() => void) | undefined;
  #isOver = false;

  /** @param leave removes the wait from its queue. Called once, when the wait ends. */
  constructor(signal: AbortSignal, leave: () => void = () => undefined) {
    this.#settle = Promise.withResolvers();
    this.promise = this.#settle.promise;
    this.#signal = signal;
    this.#leave = leave;
    signal.addEventListener("abort", this.#onAbort, { once: true });
  }

  /** @param cancel stops the timer that ends the wait */
  limit(cancel: () => void): this {
    this.#cancel = cancel;
    return this;
  }

  grant(value: T): void {
    this.end();
    this.#settle.resolve(value);
  }

  /** @param error creates the error after the wait has left its queue */
  refuse(error: () => unknown): void {
    this.end();
    this.#settle.reject(error());
  }

  /** Leaves the queue. Afterwards the wait must be granted or refused. */
  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#cancel?.();
    this.#signal.removeEventListener("abort", this.#onAbort);
    this.#leave();
  }

  readonly #onAbort = (): void => this.refuse(() => this.#signal.reason);
}

/** Limits the number of concurrent pieces of work. */
export class Places {
  readonly #most: number;
  #running = 0;
  /** The waiting work, oldest first. Each takes the place that it is granted. */
  readonly #waiting = new Set<Wait<void>>();

  constructor(most: number) {
    this.#most = most;
  }

  /**
   * Runs the work when there is room for it. Rejects with the signal's reason if it aborts before, or with the error of
   * the work.
   */
  async run<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    if (this.#running >= this.#most) await this.#wait(signal);
    else this.#running += 1;
    try {
      return await work();
    } finally {
      this.#leave();
    }
  }

  /** Waits for a place. The place of ended work is passed to the next. */
  async #wait(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const wait = new Wait<void>(signal, () => this.#waiting.delete(wait));
    this.#waiting.add(wait);
    return wait.promise;
  }

  #leave(): void {
    const [next] = this.#waiting;
    if (next === undefined) this.#running -= 1;
    else next.grant();
  }
}
