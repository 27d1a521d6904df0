/** Encodes text to ids, in steps that hold the event loop for a few milliseconds. */

import { createPretokenEncoder, type PretokenEncoder } from "./encode-pretokens.ts";
import { TextBytes } from "./text-bytes.ts";
import { WINDOW, windowEnd } from "./text-windows.ts";
import type { TokenBytes } from "./token-bytes.ts";
import type { EncodeSteps, TokenId } from "./tokenizer.ts";

/** Bytes of ordinary pretokens per step: at most 4 ms. */
const STEP_BYTES = 8192;
/** Texts up to this many UTF-16 units take one step, whatever they contain. */
const ONE_STEP = Math.floor(STEP_BYTES / 3);

/**
 * A character whose first byte in UTF-8 is not C2 or C3 (Latin-1), E2, EF or F0 to F4: most other letters, and no
 * punctuation or emoji. See `token-bytes.ts`.
 */
const LETTER = /[^\0-\u00ff\u2000-\u2fff\ud800-\udfff\uf000-\uffff]/;

export class Encoder {
  readonly #pretokens: PretokenEncoder;
  readonly #short = new TextBytes(ONE_STEP);
  /** A free window, not in use by any encoding. */
  #spare: TextBytes | undefined;
  /** Whether all texts so far were ASCII: tables for other texts are filled when first needed. */
  #isAscii = true;
  #isCommon = true;

  constructor(tokens: TokenBytes) {
    this.#pretokens = createPretokenEncoder(tokens);
  }

  encode(text: string, scope = ""): TokenId[] {
    if (text.length <= ONE_STEP) {
      const ids: TokenId[] = [];
      const short = this.#short;
      this.#write(text, short);
      this.#pretokens.encode(ids, short, 0, short.length, this.#pretokens.scopeOf(scope));
      return ids;
    }
    const steps = this.encodeInSteps(text, scope);
    let step = steps.next();
    while (!step.done) step = steps.next();
    return step.value;
  }

  *encodeInSteps(text: string, scope = ""): EncodeSteps {
    const ids: TokenId[] = [];
    const own = this.#spare ?? new TextBytes(WINDOW);
    this.#spare = undefined;
    for (let start = 0; start < text.length;) {
      const end = windowEnd(text, start);
      const window = end - start <= WINDOW ? own : new TextBytes(end - start);
      // Tables are filled in separate steps, so that the first text that needs them does not block the event loop for
      // long.
      if (this.#write(text.slice(start, end), window)) yield ids.length;
      yield* this.#encodeWindow(ids, window, scope);
      start = end;
      if (start < text.length) yield ids.length;
    }
    this.#spare = own;
    return ids;
  }

  *#encodeWindow(ids: TokenId[], window: TextBytes, scope: string): Generator<number, void> {
    const pretokens = this.#pretokens;
    for (let at = 0; at < window.length;) {
      const until = Math.min(at + STEP_BYTES, window.length);
      // The scope is looked up in each step, since other encodings run in between.
      const next = pretokens.encode(ids, window, at, until, pretokens.scopeOf(scope));
      if (next === at) {
        const chunks = pretokens.encodeLong(ids, window, at);
        let chunk = chunks.next();
        for (; !chunk.done; chunk = chunks.next()) yield ids.length;
        at = chunk.value;
      } else {
        at = next;
        if (at < window.length) yield ids.length;
      }
    }
  }

  /** Writes text to a window. Returns whether tables were filled for it, which takes up to 10 ms. */
  #write(text: string, into: TextBytes): boolean {
    into.write(text);
    if (!this.#isCommon || into.length === text.length) return false;
    const isFirst = this.#isAscii;
    if (isFirst) {
      this.#isAscii = false;
      this.#pretokens.addUnicode();
    }
    if (LETTER.test(text)) {
      this.#isCommon = false;
      this.#pretokens.addOthers();
    }
    return isFirst || !this.#isCommon;
  }
}
