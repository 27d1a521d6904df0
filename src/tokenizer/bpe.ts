/**
 * Byte pair encoding of one piece of text: repeatedly joins the two adjacent units whose joined token has the
 * lowest rank, the leftmost first, until no two form a token.
 *
 * The units form a doubly linked list in arrays, indexed by their start. The rank of each unit with its right
 * neighbour is cached, so that a merge looks up only two ranks. With few units, the lowest rank is found by a
 * scan; for many see `bpe-long.ts`, and for very long pieces `bpe-backtracking.ts`.
 */

import { type Backtracker, createBacktracker } from "./bpe-backtracking.ts";
import { createLongMerger } from "./bpe-long.ts";
import type { CharacterSeams } from "./character-seams.ts";
import { NO_RANK, type Ranks } from "./ranks.ts";
import { idsOfBytes, type TokenBytes } from "./token-bytes.ts";
import type { TokenId } from "./tokenizer.ts";
import * as utf8 from "./utf8.ts";

export interface PieceMerger {
  /**
   * Appends the ids of the bytes `view[start … end)`: a piece, or a part of one whose first and last
   * characters may be incomplete. A very long one is searched as in `bpe-backtracking.ts` if `maySearch`. Returns whether
   * the next part of the same piece should be, too.
   */
  readonly appendTo: (
    out: TokenId[],
    view: DataView,
    start: number,
    end: number,
    maySearch: boolean,
  ) => boolean;
  /** Builds the tables that searching these bytes needs first, up to 10 ms once; without it, {@link appendTo} does. */
  readonly prepare: (view: DataView, start: number, end: number) => void;
  /** Must be called once text may contain other than the common tokens. */
  readonly addOthers: () => void;
}

/** Up to this many units, scanning all of them is faster. Any limit from 64 to 256 performs alike. */
const MAX_SCANNED = 96;
/** ASCII pieces of fewer bytes are not worth the tables that a search needs, 20 ms at first. */
const MIN_SEARCHED_ASCII = 4096;
/** For other pieces these take 5 ms, and merging takes two to four times as long as a search. */
const MIN_SEARCHED_OTHER = 512;
/** Pieces up to this many bytes use preallocated arrays. */
const KEPT_BYTES = 1024;

/** A closure with bound functions, for the reasons given at `createRanks`. Saves a quarter of the time. */
export function createPieceMerger(
  tokens: TokenBytes,
  { rankOf }: Ranks,
  seams: CharacterSeams,
): PieceMerger {
  /** Built for the first piece that needs it. */
  let backtracker: Backtracker | undefined;
  let hasOthers = false;
  const mergeLong = createLongMerger(rankOf);
  const noRank = NO_RANK;
  const { widthOf } = utf8;
  const byteIds = idsOfBytes();

  /** Start offset of each unit, and one entry for the end of the piece. */
  const starts = new Int32Array(KEPT_BYTES + 1);
  const ids = new Int32Array(KEPT_BYTES);
  /** The rank of a unit joined with the next one. */
  const ranks = new Int32Array(MAX_SCANNED);
  const next = new Int32Array(MAX_SCANNED);
  const previous = new Int32Array(MAX_SCANNED + 1);

  function appendTo(
    out: TokenId[],
    view: DataView,
    start: number,
    end: number,
    maySearch: boolean,
  ): boolean {
    const length = end - start;
    const isAscii = view.getUint8(end - 1) < 0x80;
    if (maySearch && length >= (isAscii ? MIN_SEARCHED_ASCII : MIN_SEARCHED_OTHER)) {
      const isEncoded = backtrackerNow().search(out, view, start, end);
      return isEncoded || appendTo(out, view, start, end, false);
    }
    if (length > KEPT_BYTES) {
      const manyStarts = new Int32Array(length + 1);
      const manyIds = new Int32Array(length);
      const manyCount = split(view, start, end, manyStarts, manyIds);
      mergeLong(out, view, manyStarts, manyIds, manyCount);
      return maySearch;
    }
    const count = split(view, start, end, starts, ids);
    if (count <= MAX_SCANNED) mergeShort(out, view, count);
    else mergeLong(out, view, starts, ids, count);
    return maySearch;
  }

  function backtrackerNow(): Backtracker {
    backtracker ??= createBacktracker(tokens, rankOf);
    if (hasOthers) backtracker.addOthers();
    return backtracker;
  }

  /**
   * Splits a piece into its first units: bytes, or whole characters if that gives the same result, see
   * `character-seams.ts`.
   */
  function split(
    view: DataView,
    start: number,
    end: number,
    unitStarts: Int32Array,
    unitIds: Int32Array,
  ): number {
    let count = 0;
    let i = start;
    for (; i < end && (view.getUint8(i) & 0xc0) === 0x80; i++) {
      unitStarts[count] = i;
      unitIds[count++] = byteIds[view.getUint8(i)]!;
    }
    let isWholeBefore = i === start || i === end || seams[view.getUint16(i - 1)] === 0;
    while (i < end) {
      const byte = view.getUint8(i);
      const charEnd = Math.min(i + widthOf(byte), end);
      const isWholeAfter = charEnd === end || seams[view.getUint16(charEnd - 1)] === 0;
      const mayBeWhole = byte >= 0x80 && isWholeBefore && isWholeAfter;
      isWholeBefore = isWholeAfter;
      const id = mayBeWhole ? rankOf(view, i, charEnd) : noRank;
      if (id !== noRank) {
        unitStarts[count] = i;
        unitIds[count++] = id;
        i = charEnd;
      }
      for (; i < charEnd; i++) {
        unitStarts[count] = i;
        unitIds[count++] = byteIds[view.getUint8(i)]!;
      }
    }
    unitStarts[count] = end;
    return count;
  }

  function mergeShort(out: TokenId[], view: DataView, count: number): void {
    for (let unit = 0; unit < count; unit++) {
      next[unit] = unit + 1;
      previous[unit] = unit - 1;
      ranks[unit] = unit + 1 < count ? rankOf(view, starts[unit]!, starts[unit + 2]!) : noRank;
    }
    for (let unit = lowest(count); unit >= 0; unit = lowest(count)) {
      const joined = next[unit]!;
      const after = next[joined]!;
      const before = previous[unit]!;
      ids[unit] = ranks[unit]!;
      next[unit] = after;
      previous[after] = unit;
      ranks[joined] = noRank;
      ranks[unit] = after < count ? rankOf(view, starts[unit]!, starts[next[after]!]!) : noRank;
      if (before >= 0) ranks[before] = rankOf(view, starts[before]!, starts[after]!);
    }
    for (let unit = 0; unit < count; unit = next[unit]!) out.push(ids[unit]!);
  }

  /** Returns the leftmost unit whose join has the lowest rank; -1 if none can be joined. */
  function lowest(count: number): number {
    let rank = noRank;
    let lowestUnit = -1;
    for (let unit = 0; unit < count; unit++) {
      if (ranks[unit]! < rank) {
        rank = ranks[unit]!;
        lowestUnit = unit;
      }
    }
    return lowestUnit;
  }

  const prepare = (view: DataView, start: number, end: number) =>
    backtrackerNow().prepare(view, start, end);
  const addOthers = () => {
    hasOthers = true;
  };
  return { appendTo, prepare, addOthers };
}
