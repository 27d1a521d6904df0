/**
 * Byte pair encoding of long pretokens. The merges equal those of `bpe.ts`, but the lowest rank comes from a tournament
 * tree, which makes the cost O(n·log n) for any text. Scanning all units for each merge is quadratic: js-tiktoken takes
 * seconds for a page of Chinese and minutes for 100,000 `a`.
 */

import type { Ranks } from "./ranks.ts";
import { NO_RANK } from "./token-tables.ts";
import type { TokenId } from "./tokenizer.ts";
import { TournamentTree } from "./tournament-tree.ts";

/** Adjacent units. Unit `i` has the id `ids[i]` and spans `starts[i]` to `starts[i + 1]`. */
export interface Units {
  readonly starts: Int32Array;
  readonly ids: Int32Array;
  /** The rank of a unit joined with the next one. */
  readonly ranks: Int32Array;
}

/** Merges `count` units and appends the resulting ids. Overwrites the ids of the units. */
export type LongMerger = (out: TokenId[], view: DataView, units: Units, count: number) => void;

export function createLongMerger(rankOf: Ranks["rankOf"]): LongMerger {
  const noRank = NO_RANK;

  return function mergeLong(out, view, { starts, ids, ranks }, count) {
    const next = new Int32Array(count);
    const previous = new Int32Array(count + 1);
    for (let unit = 0; unit < count; unit++) {
      next[unit] = unit + 1;
      previous[unit] = unit - 1;
    }
    const tree = new TournamentTree(ranks.subarray(0, count));
    for (let unit = tree.lowest(); unit >= 0; unit = tree.lowest()) {
      const joined = next[unit]!;
      const after = next[joined]!;
      const before = previous[unit]!;
      ids[unit] = tree.value(unit);
      next[unit] = after;
      previous[after] = unit;
      tree.set(joined, noRank);
      tree.set(unit, after < count ? rankOf(view, starts[unit]!, starts[next[after]!]!) : noRank);
      if (before >= 0) tree.set(before, rankOf(view, starts[before]!, starts[after]!));
    }
    for (let unit = 0; unit < count; unit = next[unit]!) out.push(ids[unit]!);
  };
}
