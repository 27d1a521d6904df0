/**
 * Hash tables of the tokens of two and more bytes. Each token is entered by the loop that unpacks it, see
 * `token-bytes.ts`: V8 has compiled that loop by then, while a separate loop would start in the interpreter.
 *
 *     slots   [hash] → 14 more bits of the hash, id + 1    53 %, at last 76 % full    1 MB
 *     seen    one bit for each hash of a token                                     128 KB
 *     pairs   [two bytes] → id                                                     256 KB
 *
 * `slots` uses open addressing. A match is confirmed by the token's bytes. Twice as many slots would take longer to
 * fill: the first write to each page takes the system some microseconds.
 */

/** The rank of bytes that are not a token: higher than all others. */
export const NO_RANK = 0x7fffffff;

export interface TokenTables {
  readonly slots: Int32Array;
  readonly seen: Int32Array;
  readonly pairs: Int32Array;
}

export const SLOT_BITS = 18;
export const SLOT_MASK = (1 << SLOT_BITS) - 1;
export const ID_BITS = 18;
export const ID_MASK = (1 << ID_BITS) - 1;
export const SEEN_BITS = 20;

/** Empty tables. */
export function createTokenTables(): TokenTables {
  return {
    slots: new Int32Array(SLOT_MASK + 1),
    seen: new Int32Array(1 << (SEEN_BITS - 5)),
    pairs: new Int32Array(0x10000).fill(NO_RANK),
  };
}

/** The first of the slots in which a token with this hash may be. */
export function slotOf(hash: number): number {
  return hash >>> (32 - SLOT_BITS);
}

export function wordOfSeen(hash: number): number {
  return hash >>> (32 - SEEN_BITS + 5);
}

/** The bit of a hash in `seen`. Shifts use only the low five bits of their count. */
export function bitOfSeen(hash: number): number {
  return 1 << (hash >>> (32 - SEEN_BITS));
}
