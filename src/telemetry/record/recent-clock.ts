/**
 * The clock of all records. To ask for the time takes a fortieth of what a token costs. So while more than a thousand tokens are
 * read in a second, one of eight asks, and the next seven get the same answer. It is up to seven milliseconds old, and less than one
 * where 8,000 are read. Only after a pause of all streams at once, up to seven tokens get a time from before it.
 */
import type { TokenClock } from "../../turn/facts.ts";
import { clockTenths } from "./tenths.ts";

/** Between two questions that are asked; in milliseconds. */
const OFTEN_MS = 1;
const ANSWERED_ALIKE = 7;

/** Times are as {@link clockTenths}. They never go back. */
export class RecentClock implements TokenClock {
  readonly #clock: () => number;
  #asked = -Infinity;
  /** The last time that was asked for. */
  answer = 0;
  /** Questions that get the last answer. */
  alike = 0;

  /** @param clock milliseconds; only differences are used. */
  constructor(clock: () => number) {
    this.#clock = clock;
  }

  /** The current time. */
  now(): number {
    const ms = this.#clock();
    this.alike = ms - this.#asked < OFTEN_MS ? ANSWERED_ALIKE : 0;
    this.#asked = ms;
    return (this.answer = clockTenths(ms));
  }

  /** The current time, or while it is asked for very often, the one before. */
  recent(): number {
    if (this.alike === 0) return this.now();
    this.alike -= 1;
    return this.answer;
  }
}
