/**
 * Detects a model stuck in a loop: its last tokens are the same short sequence over and over. For engines
 * that return no ids, characters are compared instead of tokens.
 */
import type { Capabilities, EngineTokens } from "../../engines/engine.ts";
import type { TokenId } from "../../tokenizer/index.ts";
import { type TextTokens, textUnit } from "./token-units.ts";

/** Longest period to detect, in tokens. */
const MAX_PERIOD = 64;
/** Tokens that must be periodic to count as a loop. Higher than in lists and tables, which repeat too. */
const MIN_REPEATED = 384;
/** A check costs up to `MAX_PERIOD × MIN_REPEATED` comparisons, so it runs only every so many tokens. */
const INTERVAL = 32;
const CHARACTERS_PER_TOKEN = 4;
/** Units are forgotten every so many checks: to move the others at each check costs more than the comparison. */
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

  push(tokens: EngineTokens): void {
    switch (tokens.type) {
      case "ids":
        return this.pushIds(tokens.ids, 0, tokens.ids.length);
      case "pieces":
        for (const piece of tokens.pieces) {
          if ("text" in piece) this.#pushText(piece.text);
          else this.#recent.push(piece.special);
        }
        break;
      case "text":
        this.#pushText(tokens.text);
        break;
      default:
        tokens satisfies never;
    }
    this.#count(countUnits(tokens));
  }

  /** As {@link push}, for some ids of a list. */
  pushIds(ids: readonly TokenId[], from: number, to: number): void {
    for (let at = from; at < to; at++) this.#recent.push(ids[at] ?? 0);
    this.#count(to - from);
  }

  /** Ids that can be pushed at once without skipping a check. */
  get idsUntilCheck(): number {
    return this.#untilCheck;
  }

  /** Whether all of these tokens can be pushed at once without skipping a check. */
  hasRoomFor(tokens: EngineTokens): boolean {
    return countUnits(tokens) <= this.#untilCheck;
  }

  /**
   * Splits text at each check, so that the result does not depend on how it arrived. Push each part before requesting the
   * next.
   */
  *split(tokens: TextTokens): Generator<EngineTokens> {
    for (let at = 0; at < tokens.text.length;) {
      const end = Math.min(at + this.#untilCheck, tokens.text.length);
      yield textUnit(tokens, at, end);
      at = end;
    }
  }

  get #untilCheck(): number {
    return this.#interval - this.#sinceCheck;
  }

  #pushText(text: string): void {
    for (let at = 0; at < text.length; at++) this.#recent.push(text.charCodeAt(at));
  }

  #count(units: number): void {
    this.#sinceCheck += units;
    if (this.#sinceCheck >= this.#interval) this.#check();
  }

  #check(): void {
    this.#sinceCheck = 0;
    this.#forget();
    this.looping = this.#isPeriodic();
  }

  /**
   * Keeps the units that a check compares, and at most those of {@link CHECKS_KEPT} checks before them. In place: a copy
   * would be most of the guard's garbage.
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

function countUnits(tokens: EngineTokens): number {
  switch (tokens.type) {
    case "ids":
      return tokens.ids.length;
    case "pieces":
      return tokens.pieces.reduce(
        (sum, piece) => sum + ("text" in piece ? piece.text.length : 1),
        0,
      );
    case "text":
      return tokens.text.length;
    default:
      return tokens satisfies never;
  }
}
