/** Decodes ids to text as they arrive. */

import { specialTokenName } from "./special-tokens.ts";
import { bytesOf, type TokenBytes } from "./token-bytes.ts";
import type { TokenTexts } from "./token-texts.ts";
import type { StreamingDecoder, TokenId } from "./tokenizer.ts";

export class Decoder implements StreamingDecoder {
  readonly #tokens: TokenBytes;
  readonly #texts: TokenTexts;
  /** Buffers the bytes of a character that spans several tokens. Most streams have none. */
  #utf8: InstanceType<typeof TextDecoder> | undefined;
  #isWithinCharacter = false;

  constructor(tokens: TokenBytes, texts: TokenTexts) {
    this.#tokens = tokens;
    this.#texts = texts;
  }

  push(id: TokenId): string {
    const text = this.#texts.textOf(id) ?? specialTokenName(id);
    // Valid UTF-8 begins with a whole character, so buffered bytes remain incomplete.
    if (text !== undefined) return this.#isWithinCharacter ? this.end() + text : text;
    this.#isWithinCharacter = true;
    this.#utf8 ??= new TextDecoder("utf-8", { ignoreBOM: true });
    return this.#utf8.decode(bytesOf(this.#tokens, id), { stream: true });
  }

  end(): string {
    if (!this.#isWithinCharacter) return "";
    this.#isWithinCharacter = false;
    return this.#utf8?.decode() ?? "";
  }
}
