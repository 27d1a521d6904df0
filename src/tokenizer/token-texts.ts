/** Texts of single tokens, decoded on first use. */

import { bytesOf, ORDINARY_COUNT, type TokenBytes } from "./token-bytes.ts";
import type { TokenId } from "./tokenizer.ts";

export class TokenTexts {
  readonly #tokens: TokenBytes;
  /** `null`: not valid UTF-8 alone. */
  // oxlint-disable-next-line unicorn/no-new-array -- Array.from takes 6 ms for so many
  readonly #texts = new Array<string | null | undefined>(ORDINARY_COUNT).fill(undefined);
  readonly #strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

  constructor(tokens: TokenBytes) {
    this.#tokens = tokens;
  }

  /** `undefined` for a token that is not valid UTF-8 by itself, and for special ids. */
  textOf(id: TokenId): string | undefined {
    const text = this.#texts[id];
    if (typeof text === "string") return text;
    return text === null ? undefined : this.#textOfNew(id);
  }

  #textOfNew(id: TokenId): string | undefined {
    const bytes = bytesOf(this.#tokens, id);
    if (bytes.length === 0) return undefined;
    try {
      return (this.#texts[id] = this.#strict.decode(bytes));
    } catch {
      this.#texts[id] = null;
      return undefined;
    }
  }
}
