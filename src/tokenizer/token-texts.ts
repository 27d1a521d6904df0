/** Texts of single tokens, decoded on first use. */

import { bytesOf, ORDINARY_COUNT, type TokenBytes } from "./token-bytes.ts";
import type { TokenId } from "./tokenizer.ts";

const BLOCK_BITS = 8;
const BLOCK_SIZE = 1 << BLOCK_BITS;
const BLOCK_MASK = BLOCK_SIZE - 1;

/** `null`: the token alone is not valid UTF-8. */
type Texts = (string | null | undefined)[];

export class TokenTexts {
  readonly #tokens: TokenBytes;
  /**
   * [id >> 8][id & 255]. A block is made for its first text: most processes use few of the 200,000 tokens, and one array for
   * all takes 3 MB at once.
   */
  readonly #blocks: (Texts | undefined)[] = Array.from({
    length: Math.ceil(ORDINARY_COUNT / BLOCK_SIZE),
  });
  readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true });

  constructor(tokens: TokenBytes) {
    this.#tokens = tokens;
  }

  /** `undefined` for a token that is not valid UTF-8 by itself, and for special ids. */
  textOf(id: TokenId): string | undefined {
    // Non-integers are excluded, because shifts would truncate them to an id.
    if ((id | 0) !== id) return undefined;
    const text = this.#blocks[id >> BLOCK_BITS]?.[id & BLOCK_MASK];
    if (typeof text === "string") return text;
    return text === null ? undefined : this.#textOfNew(id);
  }

  #textOfNew(id: TokenId): string | undefined {
    const bytes = bytesOf(this.#tokens, id);
    if (bytes.length === 0) return undefined;
    const block = (this.#blocks[id >> BLOCK_BITS] ??= Array.from({ length: BLOCK_SIZE }));
    const text = this.#decoder.decode(bytes);
    block[id & BLOCK_MASK] = isDecoded(text, bytes) ? text : null;
    return block[id & BLOCK_MASK] ?? undefined;
  }
}

/**
 * Whether the bytes are valid UTF-8 with this text. A decoder that throws would also detect this, but for the first
 * exception the Workers runtime reads 0.7 MB of its own program.
 */
function isDecoded(text: string, bytes: Uint8Array): boolean {
  if (!text.includes("\uFFFD")) return true;
  const encoded = new TextEncoder().encode(text);
  return encoded.length === bytes.length && encoded.every((byte, i) => byte === bytes[i]);
}
