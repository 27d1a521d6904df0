/**
 * A circuit breaker: derives from the results of recent requests whether a backend gets more.
 *
 *     closed ──failures──▶ open ──after a pause──▶ half-open ──first tokens──▶ closed
 *                           ▲                          │
 *                           └──────── one failure ─────┘   (a pause twice as long)
 *
 * Consecutive failures to reach the backend are counted: they are evidence about the backend. The request may have caused an
 * error answer, so such errors count by their rate over many requests of several clients (`outcomes.ts`).
 */
import { Outcomes, type Source } from "./outcomes.ts";

export interface BreakerOptions {
  /** Consecutive failures to reach the backend after which the breaker opens. */
  readonly failures: number;
  /** The first pause, doubled with each failed trial. */
  readonly pauseMs: number;
  readonly maxPauseMs: number;
}

export const DEFAULT_BREAKER: BreakerOptions = { failures: 3, pauseMs: 1_000, maxPauseMs: 15_000 };

/** A half-open breaker allows 1, 2, then 4 trials at a time; at this allowance it closes. */
const ENOUGH_TRIALS = 8;

export type BreakerState = "closed" | "open" | "half-open";

/** One request that the breaker has let through. */
export interface Passage {
  /** The half-open period of the trial. Requests from before that period do not count in it. */
  trialOf: number | undefined;
}

/** The end of a request, as evidence about the backend. */
export type Evidence =
  | "served"
  /** The backend could not be reached, or never began to answer. */
  | "unreached"
  /** The backend answered with an error. */
  | "failed"
  /** No evidence: the client disconnected, the backend is busy, or the request was at fault. */
  | "unclear";

export class Breaker {
  readonly #options: BreakerOptions;
  /** Called before the breaker opens: the last available backend is never excluded. */
  readonly #mayOpen: () => boolean;
  readonly #outcomes = new Outcomes();
  #failuresInRow = 0;
  #pauseMs: number;
  /** End of the pause. Undefined: the breaker is closed. */
  #openUntil: number | undefined;
  #period = 0;
  #trials = 0;
  /** Trials admitted at a time while half-open. */
  #allowance = 1;
  #isHeldClosed = false;
  readonly #counts: { ejections: number };

  /** @param counts counts the openings. */
  constructor(
    options: BreakerOptions = DEFAULT_BREAKER,
    mayOpen: () => boolean = () => true,
    counts = { ejections: 0 },
  ) {
    this.#counts = counts;
    this.#options = options;
    this.#mayOpen = mayOpen;
    this.#pauseMs = options.pauseMs;
  }

  /** Number of times the breaker has opened. */
  get ejections(): number {
    return this.#counts.ejections;
  }

  /** The breaker would be open if there were another backend, or it is still recovering. */
  get isDoubtful(): boolean {
    return this.#isHeldClosed || this.#allowance > 1;
  }

  state(now: number): BreakerState {
    if (this.#openUntil === undefined) return "closed";
    return now < this.#openUntil ? "open" : "half-open";
  }

  /** Whether a request may go through now. */
  admits(now: number): boolean {
    const state = this.state(now);
    return state === "closed" || (state === "half-open" && this.#trials < this.#allowance);
  }

  /** Milliseconds until a request may pass, as far as that depends on time. */
  waitMs(now: number): number {
    return Math.max(0, (this.#openUntil ?? now) - now);
  }

  /** Lets a request through. The caller must call `end` exactly once. */
  enter(now: number): Passage {
    if (this.state(now) !== "half-open") return { trialOf: undefined };
    this.#trials += 1;
    return { trialOf: this.#period };
  }

  /** The backend sent its first token: this ends a trial successfully and allows more. */
  begin(passage: Passage): void {
    if (this.#openUntil === undefined) {
      this.#failuresInRow = 0;
      this.#isHeldClosed = false;
    } else if (this.#endTrial(passage)) {
      this.#allowance *= 2;
      if (this.#allowance >= ENOUGH_TRIALS) this.close();
    }
  }

  end(now: number, passage: Passage, evidence: Evidence, source: Source): void {
    const wasTrial = this.#endTrial(passage);
    if (this.#openUntil === undefined) return this.#count(now, evidence, source);
    // Requests that were in flight when the breaker opened are no new evidence.
    if (!wasTrial || evidence === "served" || evidence === "unclear") return;
    this.#pauseMs = Math.min(this.#pauseMs * 2, this.#options.maxPauseMs);
    this.#open(now);
  }

  /** Closes the breaker at once, after a successful probe. */
  close(): void {
    this.#failuresInRow = 0;
    this.#pauseMs = this.#options.pauseMs;
    this.#openUntil = undefined;
    this.#isHeldClosed = false;
    this.#endPeriod();
  }

  /** Ends a pause early, because the server is reachable. */
  allowTrial(now: number): void {
    if (this.#openUntil !== undefined) this.#openUntil = Math.min(this.#openUntil, now);
  }

  #count(now: number, evidence: Evidence, source: Source): void {
    switch (evidence) {
      case "unreached":
        this.#failuresInRow += 1;
        if (this.#failuresInRow >= this.#options.failures) this.#openIfAllowed(now);
        return;
      case "served":
      case "failed": {
        this.#failuresInRow = 0;
        const failed = evidence === "failed";
        this.#outcomes.add(now, failed, source);
        if (failed && this.#outcomes.areBad(now)) this.#openIfAllowed(now);
        return;
      }
      case "unclear":
        return;
      default:
        evidence satisfies never;
    }
  }

  /** Returns whether the request was an unfinished trial of the current period. */
  #endTrial(passage: Passage): boolean {
    const isTrial = this.#openUntil !== undefined && passage.trialOf === this.#period;
    passage.trialOf = undefined;
    if (isTrial) this.#trials -= 1;
    return isTrial;
  }

  #openIfAllowed(now: number): void {
    if (this.#mayOpen()) this.#open(now);
    else this.#isHeldClosed = true;
  }

  #open(now: number): void {
    this.#counts.ejections += 1;
    this.#openUntil = now + this.#pauseMs;
    this.#isHeldClosed = false;
    this.#endPeriod();
  }

  #endPeriod(): void {
    this.#outcomes.clear();
    this.#period += 1;
    this.#trials = 0;
    this.#allowance = 1;
  }
}
