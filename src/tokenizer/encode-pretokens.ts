/** Encodes the pretokens of a text: looks up each pretoken, and merges its bytes if it is not a token. */

import { createPretokenMerger } from "./bpe.ts";
import * as byteWords from "./byte-words.ts";
import { createCachedPretokenEncoder, MAX_CACHED_BYTES } from "./pretoken-cache.ts";
import { CHUNK_BYTES, createChunkMerger } from "./pretoken-chunks.ts";
import { createScanner } from "./pre-tokenize.ts";
import { createRanks } from "./ranks.ts";
import type { TextBytes } from "./text-bytes.ts";
import type { TokenBytes } from "./token-bytes.ts";
import type { TokenId } from "./tokenizer.ts";

export interface PretokenEncoder {
  /** Returns the number of a scope. Call it again whenever another scope may have been looked up since. */
  readonly scopeOf: (name: string) => number;
  /**
   * Appends the ids of all pretokens that begin before `until`, but stops before a very long one. Returns the offset
   * reached.
   */
  readonly encode: (
    ids: TokenId[],
    text: TextBytes,
    from: number,
    until: number,
    scope: number,
  ) => number;
  /** Appends the ids of the very long pretoken at `start`. Yields after each of its chunks, and returns its end. */
  readonly encodeLong: (ids: TokenId[], text: TextBytes, start: number) => Generator<void, number>;
  /** Must be called once, before any text is encoded that is not all ASCII. */
  readonly addUnicode: () => void;
  /** Must be called once, before text with a letter of uncommon tokens is encoded. */
  readonly addOthers: () => void;
}

/** A closure with bound functions, for the reasons given at `createRanks`. */
export function createPretokenEncoder(tokens: TokenBytes): PretokenEncoder {
  const { find, rankOf, addOthers } = createRanks(tokens);
  const merge = createPretokenMerger(rankOf);
  const mergeInChunks = createChunkMerger(tokens, merge);
  const { scopeOf, encode: encodeCached } = createCachedPretokenEncoder(encodePretoken);
  const { pretokenEnd, addUnicode } = createScanner();
  const { hashOf } = byteWords;
  const maxCached = MAX_CACHED_BYTES;
  const maxWhole = CHUNK_BYTES;

  function encode(
    ids: TokenId[],
    text: TextBytes,
    from: number,
    until: number,
    scope: number,
  ): number {
    const { view } = text;
    let start = from;
    while (start < until) {
      const end = pretokenEnd(text, start);
      const length = end - start;
      if (length <= maxCached) encodeCached(ids, view, start, length, scope);
      else if (length <= maxWhole)
        encodePretoken(ids, view, start, length, hashOf(view, start, length));
      else break;
      start = end;
    }
    return start;
  }

  function* encodeLong(ids: TokenId[], text: TextBytes, start: number): Generator<void, number> {
    const end = pretokenEnd(text, start);
    yield* mergeInChunks(ids, text.view, start, end);
    return end;
  }

  function encodePretoken(
    ids: TokenId[],
    view: DataView,
    start: number,
    length: number,
    hash: number,
  ): void {
    const id = find(view, start, length, hash);
    if (id >= 0) ids.push(id);
    else merge(ids, view, start, start + length);
  }

  return { scopeOf, encode, encodeLong, addUnicode, addOthers };
}
