/**
 * Byte pair encoding of one pretoken of text: repeatedly joins the two adjacent units whose joined token has the
 * lowest rank, the leftmost first, until no two form a token. The first units are the bytes.
 *
 * The units form a doubly linked list in arrays, indexed by their start. The rank of each unit with its right
 * neighbour is cached, so that a merge looks up only two ranks. With few units, the lowest rank is found by a
 * scan; for many see `bpe-long.ts`.
 */

import { createLongMerger, type Units } from "./bpe-long.ts";
import type { Ranks } from "./ranks.ts";
import { idsOfBytes } from "./token-bytes.ts";
import { NO_RANK } from "./token-tables.ts";
import type { TokenId } from "./tokenizer.ts";

/**
 * Appends the ids of the bytes `view[start … end)`: a pretoken, or a part of one whose first and last characters may be
 * incomplete.
 */
export type PretokenMerger = (out: TokenId[], view: DataView, start: number, end: number) => void;

/** Up to this many units, scanning all of them is faster. Limits from 64 to 256 perform equally. */
const MAX_SCANNED = 96;
/** Pretokens, and chunks of them, up to this many bytes use preallocated arrays. */
const KEPT_BYTES = 8192 + 4;

/** A closure with bound functions, for the reasons given at `createRanks`. Saves a quarter of the time. */
export function createPretokenMerger(rankOf: Ranks["rankOf"]): PretokenMerger {
  const mergeLong = createLongMerger(rankOf);
  const byteIds = idsOfBytes();
  const noRank = NO_RANK;
  const keptUnits = unitsFor(KEPT_BYTES);
  const next = new Int32Array(MAX_SCANNED);
  const previous = new Int32Array(MAX_SCANNED + 1);

  function merge(out: TokenId[], view: DataView, start: number, end: number): void {
    const count = end - start;
    const units = count > KEPT_BYTES ? unitsFor(count) : keptUnits;
    const { starts, ids, ranks } = units;
    for (let i = start; i < end; i++) {
      const unit = i - start;
      starts[unit] = i;
      ids[unit] = byteIds[view.getUint8(i)]!;
      ranks[unit] = i + 1 < end ? rankOf(view, i, i + 2) : noRank;
    }
    starts[count] = end;
    if (count <= MAX_SCANNED) mergeShort(out, view, units, count);
    else mergeLong(out, view, units, count);
  }

  function mergeShort(
    out: TokenId[],
    view: DataView,
    { starts, ids, ranks }: Units,
    count: number,
  ): void {
    for (let unit = 0; unit < count; unit++) {
      next[unit] = unit + 1;
      previous[unit] = unit - 1;
    }
    for (let unit = lowest(ranks, count); unit >= 0; unit = lowest(ranks, count)) {
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
  function lowest(ranks: Int32Array, count: number): number {
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

  return merge;
}

function unitsFor(length: number): Units {
  return {
    starts: new Int32Array(length + 1),
    ids: new Int32Array(length),
    ranks: new Int32Array(length),
  };
}
