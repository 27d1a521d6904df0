/**
 * A circuit breaker: whether a backend is worth a try, judged by how its last tries went.
 *
 *     closed ──failures in a row──▶ open ──after a pause──▶ half-open ──one success──▶ closed
 *                                    ▲                          │
 *                                    └──────── one failure ─────┘   (a pause twice as long)
 */
export interface CircuitOptions {
  /** Failures in a row that open it. */
  readonly failures: number;
  /** The first pause, doubled with each failed try after it. */
  readonly pauseMs: number;
  readonly maxPauseMs: number;
}

export const DEFAULT_CIRCUIT: CircuitOptions = { failures: 3, pauseMs: 1_000, maxPauseMs: 15_000 };

export class Circuit {
  readonly #options: CircuitOptions;
  #failures = 0;
  #pauseMs: number;
  /** When the pause ends; undefined while it is closed. */
  #openUntil: number | undefined;
  #trying = false;

  constructor(options: CircuitOptions = DEFAULT_CIRCUIT) {
    this.#options = options;
    this.#pauseMs = options.pauseMs;
  }

  state(now: number): "closed" | "open" | "half-open" {
    if (this.#openUntil === undefined) return "closed";
    return now < this.#openUntil ? "open" : "half-open";
  }

  /** Whether a request may go through now: in `half-open` one at a time. */
  admits(now: number): boolean {
    const state = this.state(now);
    return state === "closed" || (state === "half-open" && !this.#trying);
  }

  /** Milliseconds until a request may go through, as far as it depends on time. */
  waitMs(now: number): number {
    return Math.max(0, (this.#openUntil ?? now) - now);
  }

  /** A request goes through. Its end is told by `succeed`, `fail` or `leave`. */
  enter(now: number): void {
    if (this.state(now) === "half-open") this.#trying = true;
  }

  succeed(): void {
    this.#failures = 0;
    this.#pauseMs = this.#options.pauseMs;
    this.#openUntil = undefined;
    this.#trying = false;
  }

  fail(now: number): void {
    this.#failures += 1;
    if (this.#openUntil !== undefined) {
      // Failures of requests that were under way when it opened say nothing new.
      if (!this.#trying) return;
      this.#pauseMs = Math.min(this.#pauseMs * 2, this.#options.maxPauseMs);
    } else if (this.#failures < this.#options.failures) return;
    this.open(now);
  }

  /** A request ended without showing whether the backend is well. */
  leave(): void {
    this.#trying = false;
  }

  /** Opens it without waiting for more failures: somebody has looked and found nobody. */
  open(now: number): void {
    this.#trying = false;
    this.#openUntil = now + this.#pauseMs;
  }

  /** Ends a pause early: somebody has looked and found the server well. */
  allowTry(now: number): void {
    if (this.#openUntil !== undefined) this.#openUntil = Math.min(this.#openUntil, now);
  }
}
