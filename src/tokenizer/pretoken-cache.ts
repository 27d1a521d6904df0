/**
 * Caches the ids of recent pretokens. Most pretokens of a new text have occurred before, and a lookup in 256 KB is
 * faster than one in the 4 MB of `Ranks`, and much faster than a merge (prose and code 1.2 to 1.4 times as
 * fast, repeated text 1.5 times).
 *
 * Direct-mapped: each pretoken has one slot, which the next pretoken overwrites, so the size is fixed.
 *
 *     entry, eight words:   the pretoken's bytes ×4 · length, count, scope · ids ×3
 *
 * Longer pretokens and pretokens with more ids are not cached.
 *
 * An entry is found only in its own scope: otherwise encoding times would tell one tenant which rare words
 * another has sent. Scopes share the slots, but each hashes its pretokens differently, so that common words of
 * two scopes do not evict each other.
 */

import * as byteWords from "./byte-words.ts";
import type { TokenId } from "./tokenizer.ts";

/** Appends the ids of the pretoken of `length` bytes at `start` with this hash. */
export type EncodePretoken = (
  ids: TokenId[],
  view: DataView,
  start: number,
  length: number,
  hash: number,
) => void;

/** Bytes of the longest pretoken that is cached. */
export const MAX_CACHED_BYTES = 16;

const ENTRY_BITS = 13;
const MAX_IDS = 3;
const LENGTH_BITS = 5;
const COUNT_BITS = 2;
const COUNT_MASK = (1 << COUNT_BITS) - 1;
const SCOPE_SHIFT = LENGTH_BITS + COUNT_BITS;
/** The bits of the fifth word that must match. */
const TAG_MASK = ~(COUNT_MASK << LENGTH_BITS);
/** 2³² divided by the golden ratio: its multiples are evenly distributed. */
const SPREAD = 0x9e3779b1;
/** Maximum number of scopes at a time. */
export const MAX_SCOPES = 4096;

export interface CachedPretokenEncoder {
  /** Returns the number of a scope. Call it again whenever another scope may have been looked up since. */
  readonly scopeOf: (name: string) => number;
  /** Like `encodePretoken`, for pretokens of at most {@link MAX_CACHED_BYTES} bytes. */
  readonly encode: (
    ids: TokenId[],
    view: DataView,
    start: number,
    length: number,
    scope: number,
  ) => void;
}

export function createCachedPretokenEncoder(encodePretoken: EncodePretoken): CachedPretokenEncoder {
  // Bound here for the reason given at `createRanks`.
  const { hashOf, hashOfWords, highWord, lowWord } = byteWords;
  const entries = new Int32Array(8 << ENTRY_BITS);
  const scopes = new Map<string, number>();

  function scopeOf(name: string): number {
    const known = scopes.get(name);
    if (known !== undefined) return known;
    if (scopes.size === MAX_SCOPES) {
      // Scope numbers are reused, so entries of earlier scopes must be cleared.
      scopes.clear();
      entries.fill(0);
    }
    const scope = scopes.size;
    scopes.set(name, scope);
    return scope;
  }

  function encode(
    ids: TokenId[],
    view: DataView,
    start: number,
    length: number,
    scope: number,
  ): void {
    let first;
    let second;
    let third = 0;
    let fourth = 0;
    let hash;
    if (length <= 8) {
      first = lowWord(view, start, length);
      second = highWord(view, start, length);
      hash = hashOfWords(first, second, length);
    } else {
      first = view.getInt32(start, true);
      second = view.getInt32(start + 4, true);
      third = lowWord(view, start + 8, length - 8);
      fourth = highWord(view, start + 8, length - 8);
      hash = hashOf(view, start, length);
    }

    const tag = length | (scope << SCOPE_SHIFT);
    const entry = ((hash ^ Math.imul(scope, SPREAD)) >>> (32 - ENTRY_BITS)) << 3;
    const meta = entries[entry + 4]!;
    if (
      entries[entry] === first &&
      entries[entry + 1] === second &&
      (meta & TAG_MASK) === tag &&
      (length <= 8 || (entries[entry + 2] === third && entries[entry + 3] === fourth))
    ) {
      const count = (meta >> LENGTH_BITS) & COUNT_MASK;
      ids.push(entries[entry + 5]!);
      if (count > 1) ids.push(entries[entry + 6]!);
      if (count > 2) ids.push(entries[entry + 7]!);
      return;
    }

    const from = ids.length;
    encodePretoken(ids, view, start, length, hash);
    const count = ids.length - from;
    if (count > MAX_IDS) return;
    entries[entry] = first;
    entries[entry + 1] = second;
    entries[entry + 2] = third;
    entries[entry + 3] = fourth;
    entries[entry + 4] = tag | (count << LENGTH_BITS);
    for (let i = 0; i < count; i++) entries[entry + 5 + i] = ids[from + i]!;
  }

  return { scopeOf, encode };
}
