/**
 * Detects a model stuck in a loop: its last tokens repeat one short sequence. For engines that return no ids,
 * characters are compared instead of tokens.
 */
import type { Capabilities, EngineTokens } from "../../engines/engine.ts";

/** Longest period to detect, in tokens. */
const MAX_PERIOD = 64;
/** Tokens that must be periodic to count as a loop. Higher than in lists and tables, which repeat too. */
const MIN_REPEATED = 384;
/** A check costs up to `MAX_PERIOD × MIN_REPEATED` comparisons, so it runs only once per this many tokens. */
const INTERVAL = 32;
const CHARACTERS_PER_TOKEN = 4;
/**
 * Number of checks after which old units are dropped: moving the others at each check costs more than the comparison.
 */
const CHECKS_KEPT = 4;

export class RepetitionGuard {
  /** Result of the last check. */
  looping = false;
  readonly #maxPeriod: number;
  readonly #minRepeated: number;
  readonly #interval: number;
  readonly #recent: number[] = [];
  #sinceCheck = 0;

  /** `scale`: units per token. A unit is an id or a character. */
  constructor(idsOut: Capabilities["idsOut"]) {
    const scale = idsOut === "exact" ? 1 : CHARACTERS_PER_TOKEN;
    this.#maxPeriod = MAX_PERIOD * scale;
    this.#minRepeated = MIN_REPEATED * scale;
    this.#interval = INTERVAL * scale;
  }

  /** Adds at most {@link untilCheck} units, or one piece: otherwise a check would be skipped. */
  push(tokens: EngineTokens): void {
    const recent = this.#recent;
    const before = recent.length;
    switch (tokens.type) {
      case "ids":
        for (const id of tokens.ids) recent.push(id);
        break;
      case "pieces":
        for (const piece of tokens.pieces) {
          if ("text" in piece) this.#pushText(piece.text);
          else recent.push(piece.special);
        }
        break;
      case "text":
        this.#pushText(tokens.text);
        break;
      default:
        tokens satisfies never;
    }
    this.#sinceCheck += recent.length - before;
    if (this.#sinceCheck >= this.#interval) this.#check();
  }

  /** Units, ids or characters, that can be pushed before the next check. */
  get untilCheck(): number {
    return this.#interval - this.#sinceCheck;
  }

  #pushText(text: string): void {
    for (let at = 0; at < text.length; at++) this.#recent.push(text.charCodeAt(at));
  }

  #check(): void {
    this.#sinceCheck = 0;
    this.#forget();
    this.looping = this.#isPeriodic();
  }

  /**
   * Keeps the units that a check compares, and at most the units of {@link CHECKS_KEPT} earlier checks. They are moved
   * in place, because copies would be most of the guard's garbage.
   */
  #forget(): void {
    const units = this.#recent;
    const excess = units.length - this.#minRepeated - this.#maxPeriod;
    if (excess < CHECKS_KEPT * this.#interval) return;
    for (let at = excess; at < units.length; at++) units[at - excess] = units[at] ?? 0;
    units.length -= excess;
  }

  #isPeriodic(): boolean {
    const units = this.#recent;
    const from = units.length - this.#minRepeated;
    for (let period = 1; period <= this.#maxPeriod; period++) {
      if (from - period < 0) return false;
      let at = units.length - 1;
      while (at >= from && units[at] === units[at - period]) at--;
      if (at < from) return true;
    }
    return false;
  }
}
