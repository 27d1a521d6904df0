/** Waiting in a queue, until it is granted, refused or aborted. */

/**
 * The wait of one caller for a value. Its owner keeps it in a queue, and grants or refuses it. A signal that is aborted already does
 * not end it: check that first.
 */
export class Wait<T> {
  readonly promise: Promise<T>;
  readonly #settle: PromiseWithResolvers<T>;
  readonly #signal: AbortSignal;
  readonly #leave: () => void;
  #cancel: (() => void) | undefined;
  #isOver = false;

  /** @param leave takes the wait out of its queue. Called once, when the wait ends. */
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

  /** @param error made when the wait has left its queue */
  refuse(error: () => unknown): void {
    this.end();
    this.#settle.reject(error());
  }

  /** Leaves the queue. The wait is then to be granted or refused. */
  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#cancel?.();
    this.#signal.removeEventListener("abort", this.#onAbort);
    this.#leave();
  }

  readonly #onAbort = (): void => this.refuse(() => this.#signal.reason);
}

/** Limits how many pieces of work run at a time. */
export class Places {
  readonly #most: number;
  #running = 0;
  /** The waiting work, oldest first: each takes the place that it is given. */
  readonly #waiting = new Set<Wait<void>>();

  constructor(most: number) {
    this.#most = most;
  }

  /** Runs the work when there is room for it. Rejects with the signal's reason if that aborts before, or as the work does. */
  async run<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    if (this.#running >= this.#most) await this.#wait(signal);
    else this.#running += 1;
    try {
      return await work();
    } finally {
      this.#leave();
    }
  }

  /** The place of work that has ended is handed on. */
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
