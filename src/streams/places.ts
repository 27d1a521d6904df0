/** Limits how many pieces of work run at a time. */
export class Places {
  readonly #most: number;
  #running = 0;
  /** Those that wait, oldest first: each takes the place that it is given. */
  readonly #waiting = new Set<() => void>();

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
  #wait(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const giveUp = (): void => {
        this.#waiting.delete(enter);
        reject(signal.reason);
      };
      const enter = (): void => {
        signal.removeEventListener("abort", giveUp);
        resolve();
      };
      if (signal.aborted) return giveUp();
      signal.addEventListener("abort", giveUp, { once: true });
      this.#waiting.add(enter);
    });
  }

  #leave(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#running -= 1;
      return;
    }
    this.#waiting.delete(next);
    next();
  }
}
