/**
 * Finds the longest token that some bytes begin with.
 *
 *     filter   [hash] → whether tokens begin with these bytes, whether these are a token; two bits each   512 KB
 *
 * The first eight bytes are hashed one by one and the others four by four, until no token begins with all of them. The last
 * one to three bytes of a longer token are hashed one by one again. Two strings may have the same hash, so what looks like
 * a token is looked up, and if it is none, a shorter one is searched. A tree of all prefixes would have half a million
 * nodes and take 300 ms to build.
 */

import type { Ranks } from "./ranks.ts";
import { NO_RANK } from "./token-tables.ts";
import { idsOfBytes, MAX_TOKEN_BYTES, type TokenBytes } from "./token-bytes.ts";
import type { TokenId } from "./tokenizer.ts";

export interface TokenPrefixes {
  /** The longest token that the bytes `view[start … end)`, at least one, begin with. */
  readonly longest: (view: DataView, start: number, end: number) => TokenId;
  /** Must be called once text may contain other than the common tokens. */
  readonly addOthers: () => void;
}

const FILTER_BITS = 21;
/** The upper bits of a hash are the word of the filter, the next four, doubled, the bit in it. */
const WORD_SHIFT = 32 - FILTER_BITS + 4;
const BIT_SHIFT = 32 - FILTER_BITS - 1;
const BIT_MASK = 30;
const IS_PREFIX = 1;
const IS_TOKEN = 2;
const SEED = 0x5bd1e995;
const FACTOR = 0x9e3779b1;
/** Bytes that are hashed one by one. */
const SINGLE = 8;
/** Tokens are added in classes by their first byte, 32 bytes each, when a text needs the class: at most 10 ms at a time. */
const CLASS_SHIFT = 5;
const CLASSES = 256 >> CLASS_SHIFT;
/** Tokens per call of `addPart`, for the reason given at `unpackPart` in `token-bytes.ts`. */
const PART = 128;

export function createTokenPrefixes(tokens: TokenBytes, rankOf: Ranks["rankOf"]): TokenPrefixes {
  const filter = new Int32Array(1 << (FILTER_BITS - 4));
  /** By class, how many of the two lists of ids have been added. */
  const added = new Uint8Array(CLASSES);
  let lists = 1;
  const byteIds = idsOfBytes();
  const noRank = NO_RANK;
  /** Hashes after {@link SINGLE} bytes, after four more, and so on. */
  const hashes = new Int32Array(MAX_TOKEN_BYTES / 4);

  function longest(view: DataView, start: number, end: number): TokenId {
    const byte = view.getUint8(start);
    if (added[byte >> CLASS_SHIFT] !== lists) addClass(byte >> CLASS_SHIFT);
    let hash = SEED;
    let length = 1;
    const singleEnd = Math.min(end, start + SINGLE);
    let i = start;
    for (; i < singleEnd; i++) {
      hash = Math.imul(hash ^ view.getUint8(i), FACTOR);
      const bits = filter[hash >>> WORD_SHIFT]! >>> ((hash >>> BIT_SHIFT) & BIT_MASK);
      if ((bits & IS_PREFIX) === 0) break;
      if ((bits & IS_TOKEN) !== 0) length = i + 1 - start;
    }
    if (i === start + SINGLE && i < end) {
      const longer = lengthOfLong(view, i, end, hash);
      if (longer > 0) length = longer;
    }
    if (length === 1) return byteIds[byte]!;
    const id = rankOf(view, start, start + length);
    return id === noRank ? longest(view, start, start + length - 1) : id;
  }

  /** The length of the longest token if it has more than {@link SINGLE} bytes, which end at `from`; else 0. */
  function lengthOfLong(view: DataView, from: number, end: number, first: number): number {
    let step = 0;
    hashes[0] = first;
    for (let i = from; i + 4 <= end; i += 4) {
      let hash = Math.imul(hashes[step]! ^ view.getInt32(i, true), FACTOR);
      hash ^= hash >>> 15;
      const bits = filter[hash >>> WORD_SHIFT]! >>> ((hash >>> BIT_SHIFT) & BIT_MASK);
      if ((bits & IS_PREFIX) === 0) break;
      hashes[++step] = hash;
    }
    for (; step >= 0; step--) {
      const at = from + 4 * step;
      let hash = hashes[step]!;
      let found = step > 0 && isToken(hash) ? at : 0;
      for (let i = at; i < Math.min(end, at + 3); i++) {
        hash = Math.imul(hash ^ view.getUint8(i), FACTOR);
        if (isToken(hash)) found = i + 1;
      }
      if (found > 0) return SINGLE + found - from;
    }
    return 0;
  }

  function isToken(hash: number): boolean {
    return ((filter[hash >>> WORD_SHIFT]! >>> ((hash >>> BIT_SHIFT) & BIT_MASK)) & IS_TOKEN) !== 0;
  }

  function addClass(byteClass: number): void {
    if (added[byteClass] === 0) add(byteClass, tokens.commonIds);
    if (lists > 1) add(byteClass, tokens.otherIds());
    added[byteClass] = lists;
  }

  function add(byteClass: number, ids: Int32Array): void {
    for (let at = 0; at < ids.length; at += PART) {
      addPart(filter, tokens, byteClass, ids, at, Math.min(at + PART, ids.length));
    }
  }

  const addOthers = () => {
    lists = 2;
  };
  return { longest, addOthers };
}

/** With inlined copies of `startOf` and `lengthOf`, as in `token-bytes.ts`. */
function addPart(
  filter: Int32Array,
  { view, places }: TokenBytes,
  byteClass: number,
  ids: Int32Array,
  from: number,
  to: number,
): void {
  for (let at = from; at < to; at++) {
    const place = places[ids[at]!]!;
    const start = place >> 8;
    if (view.getUint8(start) >> CLASS_SHIFT !== byteClass) continue;
    const end = start + (place & 0xff);
    const singleEnd = Math.min(end, start + SINGLE);
    let hash = SEED;
    let i = start;
    for (; i < singleEnd; i++) {
      hash = Math.imul(hash ^ view.getUint8(i), FACTOR);
      filter[hash >>> WORD_SHIFT]! |= IS_PREFIX << ((hash >>> BIT_SHIFT) & BIT_MASK);
    }
    for (; i + 4 <= end; i += 4) {
      hash = Math.imul(hash ^ view.getInt32(i, true), FACTOR);
      hash ^= hash >>> 15;
      filter[hash >>> WORD_SHIFT]! |= IS_PREFIX << ((hash >>> BIT_SHIFT) & BIT_MASK);
    }
    for (; i < end; i++) hash = Math.imul(hash ^ view.getUint8(i), FACTOR);
    filter[hash >>> WORD_SHIFT]! |= IS_TOKEN << ((hash >>> BIT_SHIFT) & BIT_MASK);
  }
}
