/** Decodes ids to text as they arrive. */

import { specialTokenName } from "./special-tokens.ts";
import { bytesOf, type TokenBytes } from "./token-bytes.ts";
import type { TokenTexts } from "./token-texts.ts";
import type { StreamingDecoder, TokenId } from "./tokenizer.ts";
import { Utf8Decoder } from "./utf8.ts";

export class Decoder implements StreamingDecoder {
  readonly #tokens: TokenBytes;
  readonly #texts: TokenTexts;
  /** Buffers the bytes of a character that spans several tokens. */
  readonly #utf8 = new Utf8Decoder();

  constructor(tokens: TokenBytes, texts: TokenTexts) {
    this.#tokens = tokens;
    this.#texts = texts;
  }

  push(id: TokenId): string {
    const text = this.#texts.textOf(id) ?? specialTokenName(id);
    // Valid UTF-8 begins with a whole character, so buffered bytes remain incomplete.
    if (text !== undefined) return this.#utf8.end() + text;
    return this.#utf8.push(bytesOf(this.#tokens, id));
  }

  end(): string {
    return this.#utf8.end();
  }
}
