/**
 * Merges a very long pretoken chunk by chunk: a megabyte of letters without a space blocks no longer at a time
 * than a page does, and needs memory for one chunk only.
 *
 * The result equals merging the pretoken as a whole. In a vocabulary where merging the bytes of each token gives that
 * token, a sequence of tokens is the encoding of its text if and only if each pair of adjacent tokens is the encoding
 * of their joined text. (The first merge across their border would also happen in their text alone.) So a chunk may
 * begin where a token ends, and only the pair at that place must be checked. Text after a chunk may change how it ends,
 * so its last tokens are dropped and merged again with the next one. If the pair is still invalid, more tokens are
 * dropped, and the next chunk is longer.
 */

import type { PretokenMerger } from "./bpe.ts";
import { SLACK } from "./byte-words.ts";
import { lengthOf, MAX_TOKEN_BYTES, startOf, type TokenBytes } from "./token-bytes.ts";
import type { TokenId } from "./tokenizer.ts";

/** Appends the ids of the pretoken `view[start … end)`; yields after each chunk. */
export type ChunkMerger = (
  out: TokenId[],
  view: DataView,
  start: number,
  end: number,
) => Generator<void, void>;

/** Longer pretokens are merged in chunks of this many bytes: 2 ms at most. */
export const CHUNK_BYTES = 8192;
/** Tokens dropped at the end of a chunk: at most a quarter of the next chunk. */
const DROPPED_TOKENS = 16;

export function createChunkMerger(
  { view: tokenView, places }: TokenBytes,
  merge: PretokenMerger,
): ChunkMerger {
  const pair = new DataView(new ArrayBuffer(2 * MAX_TOKEN_BYTES + SLACK));

  function* mergeInChunks(
    out: TokenId[],
    view: DataView,
    start: number,
    end: number,
  ): Generator<void, void> {
    const first = out.length;
    let from = start;
    let length = CHUNK_BYTES;
    let dropped = DROPPED_TOKENS;
    while (from < end) {
      const to = characterStart(view, from + length, end);
      const next: TokenId[] = [];
      merge(next, view, from, to);
      if (out.length === first || mayFollow(out.at(-1)!, next[0]!)) {
        for (const id of next) out.push(id);
        from = to;
        length = CHUNK_BYTES;
        dropped = DROPPED_TOKENS;
      } else {
        length *= 2;
        dropped *= 2;
      }
      if (to < end || from < to) from -= drop(out, first, dropped);
      yield;
    }
  }

  /**
   * Removes up to `count` ids from the end of `out`, but none before `first`. Returns their length in bytes.
   */
  function drop(out: TokenId[], first: number, count: number): number {
    const kept = Math.max(first, out.length - count);
    let bytes = 0;
    for (let at = kept; at < out.length; at++) bytes += lengthOf(places[out[at]!]!);
    out.length = kept;
    return bytes;
  }

  function mayFollow(left: TokenId, right: TokenId): boolean {
    let length = 0;
    for (const id of [left, right]) {
      const start = startOf(places[id]!);
      const end = start + lengthOf(places[id]!);
      for (let at = start; at < end; at++) pair.setUint8(length++, tokenView.getUint8(at));
    }
    const ids: TokenId[] = [];
    merge(ids, pair, 0, length);
    return ids.length === 2 && ids[0] === left && ids[1] === right;
  }

  return mergeInChunks;
}

/** The first offset from `at` on where a character begins, or `end`. */
function characterStart(view: DataView, at: number, end: number): number {
  let place = at;
  while (place < end && (view.getUint8(place) & 0xc0) === 0x80) place++;
  return Math.min(place, end);
}
