/** Ids to text, all at once or one by one. */

import { specialTokenName } from "./special-tokens.ts";
import { bytesOf, ORDINARY_COUNT, type TokenBytes } from "./token-bytes.ts";
import type { StreamingDecoder, TokenId } from "./tokenizer.ts";
import { Utf8Decoder } from "./utf8.ts";

/** The text of single tokens, worked out when a token is first asked for. */
export class TokenTexts {
  readonly #tokens: TokenBytes;
  /** `null`: not valid UTF-8 alone. */
  readonly #texts: (string | null | undefined)[];
  readonly #strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

  constructor(tokens: TokenBytes) {
    this.#tokens = tokens;
    this.#texts = Array.from({ length: ORDINARY_COUNT });
  }

  /** `undefined` for a token that is not valid UTF-8 alone, and for all that are not ordinary. */
  textOf(id: TokenId): string | undefined {
    const text = this.#texts[id];
    if (typeof text === "string") return text;
    return text === null ? undefined : this.#textOfNew(id);
  }

  /** A view, not to be written to; empty for all ids that are not ordinary. */
  bytesOf(id: TokenId): Uint8Array {
    return bytesOf(this.#tokens, id);
  }

  #textOfNew(id: TokenId): string | undefined {
    const bytes = this.bytesOf(id);
    if (bytes.length === 0) return undefined;
    try {
      return (this.#texts[id] = this.#strict.decode(bytes));
    } catch {
      this.#texts[id] = null;
      return undefined;
    }
  }
}

export class Decoder implements StreamingDecoder {
  readonly #texts: TokenTexts;
  /** Holds the bytes of a character that is spread over several tokens. */
  readonly #utf8 = new Utf8Decoder();

  constructor(texts: TokenTexts) {
    this.#texts = texts;
  }

  push(id: TokenId): string {
    const text = this.#texts.textOf(id) ?? specialTokenName(id);
    // A text of its own begins with a character, so whatever was unfinished stays so.
    if (text !== undefined) return this.#utf8.end() + text;
    return this.#utf8.push(this.#texts.bytesOf(id));
  }

  end(): string {
    return this.#utf8.end();
  }
}

export function decode(texts: TokenTexts, ids: readonly TokenId[]): string {
  const decoder = new Decoder(texts);
  let text = "";
  for (const id of ids) text += decoder.push(id);
  return text + decoder.end();
}
