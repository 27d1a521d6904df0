/**
 * Maps bytes to ids. An id is also the token's rank: of two possible merges, the one with the lower id is
 * made first.
 *
 * All unpacked tokens are in `token-tables.ts`. The short ones are added to a faster table once a process has encoded
 * 20 to 70 KB:
 *
 *     short   [hash] → eight bytes · length, id + 1    tokens up to 8 bytes, 70 % full   2.6 MB
 *
 * It also uses open addressing. An entry contains the whole token, so that a lookup touches one cache line. With the
 * tokens' bytes a lookup touches three, and encoding takes a tenth longer. But filling the table takes as long as all
 * work for the first sentence. Each later lookup that finds nothing therefore adds a few tokens, in the order of their
 * ids, common ones first. Looked-up tokens are not preferred, because encoding times would reveal the texts of others.
 *
 * Most lookups during a merge are for bytes that are not a token. `seen` fits into a processor's second-level
 * cache and answers five of six of these.
 */

import * as byteWords from "./byte-words.ts";
import {
  BYTE_COUNT,
  idsOfBytes,
  lengthOf,
  MAX_TOKEN_BYTES,
  startOf,
  type TokenBytes,
} from "./token-bytes.ts";
import {
  bitOfSeen,
  ID_BITS,
  ID_MASK,
  NO_RANK,
  SLOT_MASK,
  slotOf,
  wordOfSeen,
} from "./token-tables.ts";
import type { TokenId } from "./tokenizer.ts";

/** The ranks of a vocabulary's unpacked tokens. */
export interface Ranks {
  /** Returns the id of the token with these bytes, given their hash; -1 if there is none. */
  readonly find: (view: DataView, start: number, length: number, hash: number) => TokenId;
  /** Returns the rank of two or more bytes; {@link NO_RANK} if they are not a token. */
  readonly rankOf: (view: DataView, start: number, end: number) => number;
}

/** The ranks of a vocabulary. At first, only common tokens have a rank. */
export interface VocabularyRanks extends Ranks {
  /** Adds all other tokens. Must be called once, before text with a letter of these tokens is encoded. */
  readonly addOthers: () => void;
}

const SHORT_BYTES = 8;
/** Words of an entry in `short`: the bytes, and length and id. */
const ENTRY = 3;
const SHORT_ENTRIES = 211_968;
/** Spare entries at the end, so that a search never wraps around. */
const SPARE_ENTRIES = 256;
/** Number of lookups that find nothing in `short` before it is filled, as in 20 KB of prose, or 70 KB of code. */
const LOOKUPS_BEFORE = 4096;
/** Number of tokens that each later lookup of this kind adds, in a few microseconds. */
const PART = 32;

/**
 * A closure instead of a class: it is called once, so V8 compiles the tables into the code as constants,
 * which is 10 % faster.
 */
export function createRanks(tokens: TokenBytes): VocabularyRanks {
  const { view: tokenView, places, tables } = tokens;
  const { slots, seen, pairs } = tables;
  const short = new Int32Array(ENTRY * (SHORT_ENTRIES + SPARE_ENTRIES));
  // Bound here because an import is looked up at each use. With native modules that is free, but transformed
  // modules, as in vitest, use a getter that costs more than the call.
  const { equalBytes, hashOf, hashOfWords, highWord, lowWord } = byteWords;
  const byteIds = idsOfBytes();
  const maxBytes = MAX_TOKEN_BYTES;
  const noRank = NO_RANK;
  const lists = [tokens.commonIds.subarray(BYTE_COUNT)];
  /** The number of ids of the first list that have been added to `short`. */
  let added = 0;
  /** Whether `short` has all short tokens. */
  let isFull = false;
  let lookups = 0;

  /** Adds the next tokens to `short`. */
  function fill(): void {
    const [ids] = lists;
    if (ids === undefined) {
      isFull = true;
      return;
    }
    const end = Math.min(added + PART, ids.length);
    addShort(short, tokens, ids, added, end);
    added = end;
    if (end === ids.length) {
      lists.shift();
      added = 0;
    }
  }

  function find(view: DataView, start: number, length: number, hash: number): TokenId {
    if (length === 1) return byteIds[view.getUint8(start)]!;
    if (length <= SHORT_BYTES) {
      return findShort(lowWord(view, start, length), highWord(view, start, length), length, hash);
    }
    return length <= maxBytes ? findLong(view, start, length, hash) : -1;
  }

  function findShort(low: number, high: number, length: number, hash: number): TokenId {
    for (let at = entryOf(hash); ; at += ENTRY) {
      const entry = short[at + 2]!;
      if (entry === 0) return isFull ? -1 : findUnfilled(low, high, length, hash);
      if (short[at] === low && short[at + 1] === high && entry >>> ID_BITS === length) {
        return (entry & ID_MASK) - 1;
      }
    }
  }

  function findUnfilled(low: number, high: number, length: number, hash: number): TokenId {
    if (lookups < LOOKUPS_BEFORE) lookups++;
    else fill();
    const hashBits = hash << ID_BITS;
    for (let slot = slotOf(hash); ; slot = (slot + 1) & SLOT_MASK) {
      const entry = slots[slot]!;
      if (entry === 0) return -1;
      if ((entry & ~ID_MASK) !== hashBits) continue;
      const id = (entry & ID_MASK) - 1;
      const place = places[id]!;
      const start = startOf(place);
      if (
        lengthOf(place) === length &&
        lowWord(tokenView, start, length) === low &&
        highWord(tokenView, start, length) === high
      ) {
        return id;
      }
    }
  }

  function findLong(view: DataView, start: number, length: number, hash: number): TokenId {
    const hashBits = hash << ID_BITS;
    for (let slot = slotOf(hash); ; slot = (slot + 1) & SLOT_MASK) {
      const entry = slots[slot]!;
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

  const addOthers = () => {
    lists.push(tokens.otherIds());
    isFull = false;
  };
  return { find, rankOf, addOthers };
}

/** Adds the short tokens of `ids[from … to)`. */
function addShort(
  short: Int32Array,
  { view, places }: TokenBytes,
  ids: Int32Array,
  from: number,
  to: number,
): void {
  const { hashOfWords, highWord, lowWord } = byteWords;
  for (let i = from; i < to; i++) {
    const id = ids[i]!;
    const length = lengthOf(places[id]!);
    if (length > SHORT_BYTES) continue;
    const start = startOf(places[id]!);
    const low = lowWord(view, start, length);
    const high = highWord(view, start, length);
    let at = entryOf(hashOfWords(low, high, length));
    while (short[at + 2] !== 0) at += ENTRY;
    short[at] = low;
    short[at + 1] = high;
    short[at + 2] = (length << ID_BITS) | (id + 1);
  }
}

/** The entry at which the search for this hash begins: its upper 20 bits, as a fraction of the entries. */
function entryOf(hash: number): number {
  return ENTRY * (((hash >>> 12) * (SHORT_ENTRIES / 1024)) >>> 10);
}
