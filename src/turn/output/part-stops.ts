/**
 * Finds stop strings in the answer, and across the text of neighbouring parts: a client that reads preamble and answer
 * as one text expects stop strings to be found across their boundary.
 */
import { createStopMatcher, type StopMatcher } from "./stop-strings.ts";
import type { Part } from "../turn.ts";

export interface PartStopsOptions {
  readonly stop: readonly string[];
  /** Text between preamble and answer. Undefined: the client reads them as separate texts. */
  readonly textSeparator: string | undefined;
}

/** Needs at least one stop string. */
export class PartStops {
  readonly #stop: readonly string[];
  readonly #separator: string | undefined;
  readonly #longest: number;
  #matcher: StopMatcher | undefined;
  #foundAfterAnswer: string | undefined;
  /** The end of the text emitted before this part in which a stop string could begin. Undefined: there is none. */
  #textBefore: string | undefined;
  /** Whether the open part is the first to be remembered after that text. */
  #joinsText = false;
  /** Characters of that text that the matcher has read and not returned yet. */
  #unreturnedBefore = 0;
  /**
   * The beginning of a preamble after an answer, held until it is known whether a stop string reaches into
   * it.
   */
  #afterAnswer: string | undefined;

  constructor({ stop, textSeparator }: PartStopsOptions) {
    this.#stop = stop;
    this.#separator = textSeparator;
    this.#longest = Math.max(...stop.map((each) => each.length));
  }

  /** The stop string that was found in the open part. */
  get found(): string | undefined {
    return this.#foundAfterAnswer ?? this.#matcher?.matched();
  }

  /** Called when a part begins. `followsAnswer`: an answer part has begun before it. */
  start(kind: Part["kind"], followsAnswer: boolean): void {
    this.#matcher = kind === "content" ? this.#createMatcher() : undefined;
    this.#foundAfterAnswer = undefined;
    const hasTextBefore = this.#textBefore !== undefined;
    this.#joinsText = hasTextBefore;
    this.#afterAnswer = kind === "preamble" && followsAnswer && hasTextBefore ? "" : undefined;
  }

  /** Returns the text that is certainly before any stop string. */
  push(text: string): string {
    if (this.#afterAnswer !== undefined) return this.#unlessStopped(text, false);
    if (this.#matcher === undefined) return text;
    return this.#withoutBefore(this.#matcher.push(text));
  }

  /** Returns the text held back at the end of the part. */
  end(): string {
    if (this.#afterAnswer !== undefined) return this.#unlessStopped("", true);
    return this.#withoutBefore(this.#matcher?.end() ?? "");
  }

  /** Called with emitted text of the open part: a stop string may begin in it and end in the next part. */
  remember(kind: Part["kind"] | undefined, text: string): void {
    if (this.#separator === undefined) return;
    if (kind !== "preamble" && kind !== "content") return;
    const before = this.#textBefore ?? "";
    const whole = before + (this.#joinsText ? this.#separator : "") + text;
    this.#joinsText = false;
    this.#textBefore = whole.slice(Math.max(0, whole.length - this.#longest + 1));
  }

  /** Called when the answer before the open part has been discarded. */
  forget(): void {
    this.#foundAfterAnswer = undefined;
  }

  /**
   * The matcher first reads the end of the previous text, so that stop strings are found across the
   * separator.
   */
  #createMatcher(): StopMatcher {
    const matcher = createStopMatcher(this.#stop);
    this.#unreturnedBefore = 0;
    if (this.#separator !== undefined && this.#textBefore !== undefined) {
      // Matches inside the previous text were handled there.
      const returned = matcher.skip(this.#textBefore) + matcher.push(this.#separator);
      this.#unreturnedBefore = this.#textBefore.length + this.#separator.length - returned.length;
    }
    return matcher;
  }

  /**
   * A stop string that begins in the answer, or directly after it, ends the turn before the preamble is
   * emitted.
   */
  #unlessStopped(text: string, isWhole: boolean): string {
    const begun = (this.#afterAnswer ?? "") + text;
    const texts = [this.#textBefore ?? "", this.#separator ?? "", begun] as const;
    const found = this.#stop.find((each) => each !== "" && isAcross(texts, each));
    if (found === undefined && !isWhole && begun.length < this.#longest) {
      this.#afterAnswer = begun;
      return "";
    }
    this.#afterAnswer = undefined;
    this.#foundAfterAnswer = found;
    return found === undefined ? begun : "";
  }

  #withoutBefore(text: string): string {
    if (this.#unreturnedBefore === 0) return text;
    const before = Math.min(this.#unreturnedBefore, text.length);
    this.#unreturnedBefore -= before;
    return text.slice(before);
  }
}

/** Whether `searched` begins in the first text or in the separator, and ends after the first text. */
function isAcross(
  [first, separator, second]: readonly [string, string, string],
  searched: string,
): boolean {
  const from = Math.max(0, first.length - searched.length + 1);
  const at = (first + separator + second).indexOf(searched, from);
  return at >= 0 && at < first.length + separator.length;
}
