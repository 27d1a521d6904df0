/**
 * A very long piece, merged chunk by chunk: a megabyte of letters without a space costs no more at a time than a page,
 * and memory for a chunk only.
 *
 * It gives what merging the piece as a whole gives, because of what byte pair encoding is when every token is what
 * merging its own bytes gives: a sequence of tokens is the encoding of its text exactly if the encoding of each two
 * neighbours is these two. (The first merge across the border of two tokens would be made in their text alone as well.)
 * So a chunk may begin where a token ends, and all that is to be checked is the pair at that place. What follows a
 * chunk may change how it ends, so its last tokens are dropped and merged again with the next one. Should the pair
 * not be valid all the same, more is dropped, and the next chunk is longer.
 */

import { SLACK } from "./byte-words.ts";
import { MAX_TOKEN_BYTES, type TokenBytes } from "./token-bytes.ts";
import type { TokenId } from "./tokenizer.ts";

/** Merges the bytes `view[start … end)` as if nothing stood around them. */
export type Merge = (out: TokenId[], view: DataView, start: number, end: number) => void;

/** Appends the ids of the piece `view[start … end)`; yields after each chunk. */
export type ChunkMerger = (
  out: TokenId[],
  view: DataView,
  start: number,
  end: number,
) => Generator<void, void>;

/** Pieces of more bytes are merged in chunks of so many: 2 ms at the most. */
export const CHUNK_BYTES = 8192;
/** How many tokens are dropped at the end of a chunk: at most a quarter of the next. */
const DROPPED_TOKENS = 16;

export function createChunkMerger(
  { view: tokenView, ends }: TokenBytes,
  merge: Merge,
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

  /** Takes up to `count` ids from the end of `out`, but none before `first`; gives their bytes. */
  function drop(out: TokenId[], first: number, count: number): number {
    const kept = Math.max(first, out.length - count);
    let bytes = 0;
    for (let at = kept; at < out.length; at++) bytes += ends[out[at]! + 1]! - ends[out[at]!]!;
    out.length = kept;
    return bytes;
  }

  function mayFollow(left: TokenId, right: TokenId): boolean {
    let length = 0;
    for (const id of [left, right]) {
      for (let at = ends[id]!; at < ends[id + 1]!; at++) {
        pair.setUint8(length++, tokenView.getUint8(at));
      }
    }
    const ids: TokenId[] = [];
    merge(ids, pair, 0, length);
    return ids.length === 2 && ids[0] === left && ids[1] === right;
  }

  return mergeInChunks;
}

/** The first place from `at` on where a character begins, or `end`. */
function characterStart(view: DataView, at: number, end: number): number {
  let place = at;
  while (place < end && (view.getUint8(place) & 0xc0) === 0x80) place++;
  return Math.min(place, end);
}
