/**
 * Counts the tokens of growing text incrementally, for engines that return no ids. A marker in an engine's output is
 * one token; in the text of a part it is text, which the model has spelled with several tokens.
 */
import { MarkerScanner } from "../../harmony/markers.ts";
import type { Tokenizer } from "../../tokenizer/index.ts";

/** Length in characters at which text without spaces is counted, although further text may change its tokens. */
const MAX_REST = 256;

/** Bytes of a UTF-16 code unit in UTF-8, which is its maximum number of tokens. */
const MAX_TOKENS_PER_UNIT = 3;
/**
 * Number of tokens by which the end of a text may be overcounted until more text follows: half a marker, half a word.
 */
const UNSURE_TOKENS = 8;

/**
 * The tokenizer always splits at a space after a non-space. Text before the last such space is final and is
 * counted once.
 */
export class TextMeter {
  readonly #tokenizer: Tokenizer;
  readonly #hasMarkers: boolean;
  #settled = 0;
  #rest = "";

  constructor(tokenizer: Tokenizer, { hasMarkers = true }: { readonly hasMarkers?: boolean } = {}) {
    this.#tokenizer = tokenizer;
    this.#hasMarkers = hasMarkers;
  }

  push(text: string): void {
    this.#rest += text;
    const end = settledEnd(this.#rest);
    if (end > 0) this.#settle(end);
  }

  /** Marks a boundary that no token crosses. */
  cut(): void {
    this.#settle(this.#rest.length);
  }

  /** The tokens of the text that further text cannot change. Needs no counting. */
  settled(): number {
    return this.#settled;
  }

  /** Whether there are more than `limit` tokens, whatever text follows. */
  exceeds(limit: number): boolean {
    const left = limit - this.#settled;
    if (left < 0) return true;
    const sure = left + UNSURE_TOKENS;
    if (this.#rest.length * MAX_TOKENS_PER_UNIT <= sure) return false;
    return this.#count(this.#rest) > sure;
  }

  tokens(): number {
    return this.#settled + this.#count(this.#rest);
  }

  #count(text: string): number {
    if (this.#hasMarkers) return countMarked(text, this.#tokenizer);
    return this.#tokenizer.encode(text).length;
  }

  #settle(end: number): void {
    this.#settled += this.#count(this.#rest.slice(0, end));
    this.#rest = this.#rest.slice(end);
  }
}

function settledEnd(rest: string): number {
  let at = rest.lastIndexOf(" ");
  while (at > 0 && /\s/.test(rest.charAt(at - 1))) at = rest.lastIndexOf(" ", at - 1);
  if (at > 0 || rest.length <= MAX_REST) return at;
  // Do not split inside a marker.
  const marker = rest.lastIndexOf("<");
  return marker > MAX_REST / 2 ? marker : rest.length;
}

function countMarked(text: string, tokenizer: Tokenizer): number {
  if (!text.includes("<|")) return tokenizer.encode(text).length;
  const scanner = new MarkerScanner();
  let tokens = 0;
  let run = "";
  for (const item of scanner.push(text)) {
    if (item.type === "text") {
      run += item.text;
    } else {
      tokens += tokenizer.encode(run).length + 1;
      run = "";
    }
  }
  return tokens + tokenizer.encode(run + scanner.end()).length;
}
