/**
 * Maps bytes to ids. An id is also the token's rank: of two possible merges, the one with the lower id is
 * made first.
 *
 *     short   [hash] → eight bytes · length, id + 1    tokens up to 8 bytes, 70 % full   2.6 MB
 *     long    [hash] → 14 more bits of the hash, id + 1    the others, 39 % full         0.5 MB
 *     seen    one bit for each hash of a token                                          128 KB
 *     pairs   [two bytes] → id                                                          256 KB
 *
 * Both tables use open addressing. A slot contains a short token completely, so that a lookup touches one
 * cache line; with offsets into the tokens' bytes it would touch three, and with a cold cache encoding would
 * take a third longer. A long token is compared with the tokens' bytes.
 *
 * A slot has no word to spare: each page that is written for the first time takes the system some microseconds, a third of
 * the time to fill a table.
 *
 * Most lookups during a merge are for bytes that are not a token. `seen` fits into a processor's second-level
 * cache and answers five of six of these.
 */

import * as byteWords from "./byte-words.ts";
import { lengthOf, MAX_TOKEN_BYTES, startOf, type TokenBytes } from "./token-bytes.ts";
import type { TokenId } from "./tokenizer.ts";

/** The rank of bytes that are not a token: higher than all others. */
export const NO_RANK = 0x7fffffff;

export interface Ranks {
  /** Returns the id of the token with these bytes, given their hash; -1 if there is none. */
  readonly find: (view: DataView, start: number, length: number, hash: number) => TokenId;
  /** Returns the rank of two or more bytes; {@link NO_RANK} if they are not a token. */
  readonly rankOf: (view: DataView, start: number, end: number) => number;
}

/** Of a vocabulary. Only common tokens have a rank at first. */
export interface VocabularyRanks extends Ranks {
  /** Adds all others. Must be called once, before text with a letter of theirs is encoded. */
  readonly addOthers: () => void;
}

const SHORT_BYTES = 8;
/** Words of a slot: the bytes, and length and id. */
const SLOT = 3;
const SHORT_SLOTS = 211_968;
/** Slots at the end, so that a search needs no way around. */
const SPARE_SLOTS = 256;
const SHORT_WORDS = SLOT * (SHORT_SLOTS + SPARE_SLOTS);
const LONG_BITS = 17;
const LONG_MASK = (1 << LONG_BITS) - 1;
const ID_BITS = 18;
const ID_MASK = (1 << ID_BITS) - 1;
const SEEN_BITS = 20;

interface Tables {
  readonly short: Int32Array;
  readonly long: Int32Array;
  readonly seen: Int32Array;
  readonly pairs: Int32Array;
}

/**
 * A closure instead of a class: it is called once, so V8 compiles the tables into the code as constants,
 * which is 10 % faster.
 */
export function createRanks(tokens: TokenBytes): VocabularyRanks {
  const tables = {
    short: new Int32Array(SHORT_WORDS),
    long: new Int32Array(LONG_MASK + 1),
    seen: new Int32Array(1 << (SEEN_BITS - 5)),
    pairs: new Int32Array(0x10000).fill(NO_RANK),
  };
  addTokens(tables, tokens, tokens.commonIds);
  const { short, long, seen, pairs } = tables;
  const { view: tokenView, places } = tokens;
  // Bound here because an import is looked up at each use. With native modules that is free, but transformed
  // modules, as in vitest, use a getter that costs more than the call.
  const { equalBytes, hashOf, hashOfWords, highWord, lowWord } = byteWords;
  const maxBytes = MAX_TOKEN_BYTES;
  const noRank = NO_RANK;

  function find(view: DataView, start: number, length: number, hash: number): TokenId {
    if (length <= SHORT_BYTES) {
      return findShort(lowWord(view, start, length), highWord(view, start, length), length, hash);
    }
    return length <= maxBytes ? findLong(view, start, length, hash) : -1;
  }

  function findShort(low: number, high: number, length: number, hash: number): TokenId {
    for (let slot = shortSlot(hash); ; slot += SLOT) {
      const entry = short[slot + 2]!;
      if (entry === 0) return -1;
      if (short[slot] === low && short[slot + 1] === high && entry >>> ID_BITS === length) {
        return (entry & ID_MASK) - 1;
      }
    }
  }

  function findLong(view: DataView, start: number, length: number, hash: number): TokenId {
    const hashBits = hash << ID_BITS;
    for (let slot = longSlot(hash); ; slot = (slot + 1) & LONG_MASK) {
      const entry = long[slot]!;
      if (entry === 0) return -1;
      if ((entry & ~ID_MASK) !== hashBits) continue;
      const id = (entry & ID_MASK) - 1;
      const place = places[id]!;
      if (lengthOf(place) !== length) continue;
      if (equalBytes(tokenView, startOf(place), view, start, length)) return id;
    }
  }

  function rankOf(view: DataView, start: number, end: number): number {
    const length = end - start;
    if (length === 2) return pairs[view.getUint16(start, true)]!;
    let id = -1;
    if (length <= SHORT_BYTES) {
      const low = lowWord(view, start, length);
      const high = highWord(view, start, length);
      const hash = hashOfWords(low, high, length);
      if ((seen[wordOfSeen(hash)]! & bitOfSeen(hash)) === 0) return noRank;
      id = findShort(low, high, length, hash);
    } else if (length <= maxBytes) {
      const hash = hashOf(view, start, length);
      if ((seen[wordOfSeen(hash)]! & bitOfSeen(hash)) === 0) return noRank;
      id = findLong(view, start, length, hash);
    }
    return id < 0 ? noRank : id;
  }

  const addOthers = () => addTokens(tables, tokens, tokens.otherIds());
  return { find, rankOf, addOthers };
}

/** Tokens per call of `addPart`. */
const PART = 128;

/**
 * In parts: the first calls are interpreted, then V8 compiles the function and uses the result from the next call on.
 * One loop over all tokens takes 1.5 times as long: it can change to compiled code only in its middle (on-stack
 * replacement), and returns to the interpreter at the first token of a kind it has not met.
 */
function addTokens(tables: Tables, tokens: TokenBytes, ids: Int32Array): void {
  for (let at = 0; at < ids.length; at += PART) {
    addPart(tables, tokens, ids, at, Math.min(at + PART, ids.length));
  }
}

/** With inlined copies of `hashOfWords`, `startOf` and `lengthOf`: calls are expensive before the function is compiled. */
function addPart(
  { short, long, seen, pairs }: Tables,
  { view, places }: TokenBytes,
  ids: Int32Array,
  from: number,
  to: number,
): void {
  const { HIGH_MASKS, hashOf, LOW_MASKS } = byteWords;
  for (let at = from; at < to; at++) {
    const id = ids[at]!;
    const place = places[id]!;
    const start = place >> 8;
    const length = place & 0xff;
    let hash;
    if (length <= SHORT_BYTES) {
      const low = view.getInt32(start, true) & LOW_MASKS[length]!;
      const high = view.getInt32(start + 4, true) & HIGH_MASKS[length]!;
      hash = Math.imul(low, 0x2c9277b5) ^ Math.imul(high + length, 0x85ebca6b);
      hash = Math.imul(hash ^ (hash >>> 15), 0x27d4eb2f);
      hash ^= hash >>> 14;
      let slot = shortSlot(hash);
      while (short[slot + 2] !== 0) slot += SLOT;
      short[slot] = low;
      short[slot + 1] = high;
      short[slot + 2] = (length << ID_BITS) | (id + 1);
      if (length === 2) pairs[low] = id;
    } else {
      hash = hashOf(view, start, length);
      let slot = hash >>> (32 - LONG_BITS);
      while (long[slot] !== 0) slot = (slot + 1) & LONG_MASK;
      long[slot] = (hash << ID_BITS) | (id + 1);
    }
    seen[hash >>> (32 - SEEN_BITS + 5)]! |= 1 << (hash >>> (32 - SEEN_BITS));
  }
}

/** The upper 20 bits of the hash, as a fraction of the slots. */
function shortSlot(hash: number): number {
  return SLOT * (((hash >>> 12) * (SHORT_SLOTS / 1024)) >>> 10);
}

function longSlot(hash: number): number {
  return hash >>> (32 - LONG_BITS);
}

function wordOfSeen(hash: number): number {
  return hash >>> (32 - SEEN_BITS + 5);
}

/** Shifts use only the low five bits of their count. */
function bitOfSeen(hash: number): number {
  return 1 << (hash >>> (32 - SEEN_BITS));
}
