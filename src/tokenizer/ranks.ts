/**
 * From bytes to ids. An id is also the token's rank: of two possible merges the one with the lower
 * id goes first.
 *
 *     slots    [hash] → 14 more bits of the hash, id + 1    2 MB, open addressing, 38 % full
 *     seen     one bit for each hash of a token             128 KB
 *     pairs    [two bytes] → id                             256 KB
 *
 * Most questions during a merge are about byte strings that are no token. `seen` answers five of
 * six of them from the second-level cache of the processor, where `slots` does not fit; the bits in
 * a slot all but a few of the rest. What remains is compared byte by byte: the answer is exact.
 */

import { equalBytes, hashOf } from "./byte-words.ts";
import { MAX_TOKEN_BYTES, ORDINARY_COUNT, type TokenBytes } from "./token-bytes.ts";
import type { TokenId } from "./tokenizer.ts";

/** The rank of what is no token: behind all others. */
export const NO_RANK = 0x7fffffff;

const SLOT_BITS = 19;
const SLOT_MASK = (1 << SLOT_BITS) - 1;
const ID_BITS = 18;
const ID_MASK = (1 << ID_BITS) - 1;
const SEEN_BITS = 20;

export class Ranks {
  readonly #tokens: TokenBytes;
  readonly #slots = new Int32Array(1 << SLOT_BITS);
  readonly #seen = new Int32Array(1 << (SEEN_BITS - 5));
  readonly #pairs = new Int32Array(0x10000).fill(NO_RANK);

  /** Takes 8 ms, most of it for writing to 200,000 places all over `slots`. */
  constructor(tokens: TokenBytes) {
    this.#tokens = tokens;
    const { view, ends } = tokens;
    const slots = this.#slots;
    for (let id = 0; id < ORDINARY_COUNT; id++) {
      const start = ends[id]!;
      const end = ends[id + 1]!;
      const hash = hashOf(view, start, end);
      let slot = hash >>> (32 - SLOT_BITS);
      while (slots[slot] !== 0) slot = (slot + 1) & SLOT_MASK;
      slots[slot] = (hash << ID_BITS) | (id + 1);
      this.#seen[hash >>> (32 - SEEN_BITS + 5)]! |= 1 << (hash >>> (32 - SEEN_BITS));
      if (end - start === 2) this.#pairs[view.getUint16(start, true)] = id;
    }
  }

  /** The id of the token that equals `view[start … end)`, given its hash; -1 if there is none. */
  find(view: DataView, start: number, end: number, hash: number): TokenId {
    const slots = this.#slots;
    const hashBits = hash << ID_BITS;
    for (let slot = hash >>> (32 - SLOT_BITS); ; slot = (slot + 1) & SLOT_MASK) {
      const entry = slots[slot]!;
      if (entry === 0) return -1;
      if ((entry & ~ID_MASK) === hashBits) {
        const id = (entry & ID_MASK) - 1;
        if (this.#equals(id, view, start, end)) return id;
      }
    }
  }

  /** The rank of `view[start … end)`, at least two bytes; {@link NO_RANK} if that is no token. */
  rankOf(view: DataView, start: number, end: number): number {
    const length = end - start;
    if (length === 2) return this.#pairs[view.getUint16(start, true)]!;
    if (length > MAX_TOKEN_BYTES) return NO_RANK;
    const hash = hashOf(view, start, end);
    const bit = hash >>> (32 - SEEN_BITS);
    if (((this.#seen[bit >>> 5]! >>> bit) & 1) === 0) return NO_RANK;
    const id = this.find(view, start, end, hash);
    return id < 0 ? NO_RANK : id;
  }

  #equals(id: TokenId, view: DataView, start: number, end: number): boolean {
    const { ends, view: tokenView } = this.#tokens;
    const tokenStart = ends[id]!;
    const length = end - start;
    if (ends[id + 1]! - tokenStart !== length) return false;
    return equalBytes(tokenView, tokenStart, view, start, length);
  }
}
