/**
 * The interpreter processes of a pool: a few are started ahead. A process counts towards the limit from before it starts
 * until it has exited, so memory is bounded.
 */
import type { Interpreter } from "./interpreter.ts";

export interface ProcessesOptions {
  readonly start: () => Promise<Interpreter>;
  /** Maximum number of processes. */
  readonly max: number;
  /** Number of processes started ahead, if there is capacity. */
  readonly warm: number;
  readonly onFailure?: (error: unknown) => void;
  /** An interpreter was started ahead, or a process has exited. */
  readonly onCapacity: () => void;
}

/** Capacity for one more session. */
export interface SessionPlace {
  /** Absent: one must be started. */
  readonly interpreter: Interpreter | undefined;
}

export class Processes {
  readonly #options: ProcessesOptions;
  readonly #warm: Interpreter[] = [];
  /** Processes that have started or are starting, and have not exited. */
  #count = 0;
  #warming = 0;
  #ending = 0;
  #isClosed = false;

  constructor(options: ProcessesOptions) {
    this.#options = options;
  }

  /** Processes that can be started now, or when those that are being ended have exited. */
  get capacity(): number {
    return this.#options.max - this.#count + this.#ending;
  }

  /** Undefined: the limit is reached. */
  reserve(): SessionPlace | undefined {
    const interpreter = this.#takeWarm();
    if (interpreter !== undefined) return { interpreter };
    if (this.#count >= this.#options.max) return undefined;
    this.#count++;
    return { interpreter };
  }

  /** The interpreter of a reserved place. Rejects if it does not start; the place is then given up. */
  async fill({ interpreter }: SessionPlace): Promise<Interpreter> {
    return interpreter ?? this.#start();
  }

  /** Starts interpreters ahead, as many as are missing. */
  replenish(): void {
    const { warm, max } = this.#options;
    while (this.#warm.length + this.#warming < warm && this.#count < max) {
      this.#count++;
      this.#warming++;
      void this.#warmUp();
    }
  }

  async end(interpreter: Interpreter): Promise<void> {
    this.#ending++;
    await interpreter.kill();
    this.#ending--;
    this.#count--;
    this.#options.onCapacity();
  }

  /** Ends the interpreters without a session, also those that are still starting. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all(this.#warm.map((interpreter) => interpreter.kill()));
  }

  #takeWarm(): Interpreter | undefined {
    for (let next = this.#warm.shift(); next !== undefined; next = this.#warm.shift()) {
      if (next.alive) return next;
      this.#count--;
    }
    return undefined;
  }

  async #start(): Promise<Interpreter> {
    try {
      return await this.#options.start();
    } catch (error) {
      this.#count--;
      this.#options.onFailure?.(error);
      throw error;
    }
  }

  async #warmUp(): Promise<void> {
    try {
      const interpreter = await this.#start();
      if (this.#isClosed) await interpreter.kill();
      else this.#warm.push(interpreter);
    } catch {
      // Reported. Not retried before the next session: it would most likely fail again.
      return;
    } finally {
      this.#warming--;
    }
    this.#options.onCapacity();
  }
}
