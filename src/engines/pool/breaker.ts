/**
 * A circuit breaker: whether a backend is worth a request, judged by how its last requests went.
 *
 *     closed ──failures──▶ open ──after a pause──▶ half-open ──first tokens──▶ closed
 *                           ▲                          │
 *                           └──────── one failure ─────┘   (a pause twice as long)
 *
 * Failures to reach the backend count in a row: they are evidence about the backend. Errors it has answered with may
 * be the fault of the request, so they count as a rate over many requests of several clients (see `outcomes.ts`).
 */
import { Outcomes, type Source } from "./outcomes.ts";

export interface BreakerOptions {
  /** Failures to reach the backend, in a row, that open it. */
  readonly failures: number;
  /** The first pause, doubled with each failed trial after it. */
  readonly pauseMs: number;
  readonly maxPauseMs: number;
}

export const DEFAULT_BREAKER: BreakerOptions = { failures: 3, pauseMs: 1_000, maxPauseMs: 15_000 };

/** Trials at a time with which a half-open breaker closes: 1, 2, 4, and then all. */
const ENOUGH_TRIALS = 8;

export type BreakerState = "closed" | "open" | "half-open";

/** One request that the breaker has let through. */
export interface Passage {
  /** The half-open period it is a trial of. What began before that period says nothing about it. */
  trialOf: number | undefined;
}

/** How a request has ended, as far as it says something about the backend. */
export type Outcome =
  | "served"
  /** The backend could not be reached, or never began to answer. */
  | "unreached"
  /** The backend has answered with an error. */
  | "failed"
  /** The client has left, the backend is busy, or the request was at fault. */
  | "unclear";

export class Breaker {
  readonly #options: BreakerOptions;
  /** Asked before it opens: the last backend that is left is never put out. */
  readonly #mayOpen: () => boolean;
  readonly #outcomes = new Outcomes();
  #failuresInRow = 0;
  #pauseMs: number;
  /** When the pause ends; undefined while it is closed. */
  #openUntil: number | undefined;
  #period = 0;
  #trials = 0;
  /** Trials admitted at a time while half-open. */
  #allowance = 1;
  #isHeldClosed = false;
  #ejections = 0;

  constructor(options: BreakerOptions = DEFAULT_BREAKER, mayOpen: () => boolean = () => true) {
    this.#options = options;
    this.#mayOpen = mayOpen;
    this.#pauseMs = options.pauseMs;
  }

  /** How often it has opened. */
  get ejections(): number {
    return this.#ejections;
  }

  /** It would be open if there were another backend, or has not let enough through since it was. */
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

  /** Milliseconds until a request may go through, as far as it depends on time. */
  waitMs(now: number): number {
    return Math.max(0, (this.#openUntil ?? now) - now);
  }

  /** A request goes through: to be ended exactly once. */
  enter(now: number): Passage {
    if (this.state(now) !== "half-open") return { trialOf: undefined };
    this.#trials += 1;
    return { trialOf: this.#period };
  }

  /** The backend has begun to answer: a trial ends with that, and more may follow. */
  begin(passage: Passage): void {
    if (this.#openUntil === undefined) {
      this.#failuresInRow = 0;
      this.#isHeldClosed = false;
    } else if (this.#endTrial(passage)) {
      this.#allowance *= 2;
      if (this.#allowance >= ENOUGH_TRIALS) this.close();
    }
  }

  end(now: number, passage: Passage, outcome: Outcome, source: Source): void {
    const wasTrial = this.#endTrial(passage);
    if (this.#openUntil === undefined) return this.#count(now, outcome, source);
    // Other requests that were in flight when it opened say nothing new.
    if (!wasTrial || outcome === "served" || outcome === "unclear") return;
    this.#pauseMs = Math.min(this.#pauseMs * 2, this.#options.maxPauseMs);
    this.#open(now);
  }

  /** It is well beyond doubt: somebody has asked it. */
  close(): void {
    this.#failuresInRow = 0;
    this.#pauseMs = this.#options.pauseMs;
    this.#openUntil = undefined;
    this.#isHeldClosed = false;
    this.#endPeriod();
  }

  /** Ends a pause early: the server behind it is there. */
  allowTrial(now: number): void {
    if (this.#openUntil !== undefined) this.#openUntil = Math.min(this.#openUntil, now);
  }

  #count(now: number, outcome: Outcome, source: Source): void {
    switch (outcome) {
      case "unreached":
        this.#failuresInRow += 1;
        if (this.#failuresInRow >= this.#options.failures) this.#openIfAllowed(now);
        return;
      case "served":
      case "failed": {
        this.#failuresInRow = 0;
        const failed = outcome === "failed";
        this.#outcomes.add(now, failed, source);
        if (failed && this.#outcomes.areBad(now)) this.#openIfAllowed(now);
        return;
      }
      case "unclear":
        return;
      default:
        outcome satisfies never;
    }
  }

  /** Whether it was a trial of the present period that had not ended yet. */
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
    this.#ejections += 1;
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
