/**
 * Splits a piece into runs that are merged independently of each other, and each run into its first units: bytes, or whole
 * characters if that gives the same result. See `character-seams.ts`.
 */

import * as characterSeams from "./character-seams.ts";
import type { CharacterSeams } from "./character-seams.ts";
import type { Ranks } from "./ranks.ts";
import { NO_RANK } from "./token-tables.ts";
import { idsOfBytes } from "./token-bytes.ts";
import type { TokenId } from "./tokenizer.ts";
import * as utf8 from "./utf8.ts";

/** Adjacent units. Unit `i` has the id `ids[i]` and spans `starts[i]` to `starts[i + 1]`. */
export interface Units {
  readonly starts: Int32Array;
  readonly ids: Int32Array;
  /** The rank of a unit joined with the next one. */
  readonly ranks: Int32Array;
}

export interface RunMerger {
  /** Appends the ids of a run of at least two units. */
  readonly mergeRun: (out: TokenId[], view: DataView, units: Units, count: number) => void;
  /**
   * Called for the first run of more than `maxUnits`. Appends the ids of the bytes `view[start … end)`, from this run to the
   * end of the piece, and returns true; or returns false, and the run is merged like all others.
   */
  readonly search: (out: TokenId[], view: DataView, start: number, end: number) => boolean;
  readonly maxUnits: number;
}

/**
 * Appends the ids of the bytes `view[start … end)`, a part of valid UTF-8. `units` have room for all of them. Single
 * characters between seams that no token crosses need no merge; in random Han these are nearly all.
 */
export type CharacterMerger = (
  out: TokenId[],
  view: DataView,
  start: number,
  end: number,
  units: Units,
) => void;

export function unitsFor(length: number): Units {
  return {
    starts: new Int32Array(length + 1),
    ids: new Int32Array(length),
    ranks: new Int32Array(length),
  };
}

export function createCharacterMerger(
  rankOf: Ranks["rankOf"],
  { groups, beginInside, endInside, pairs, characters }: CharacterSeams,
  { mergeRun, search, maxUnits }: RunMerger,
): CharacterMerger {
  // Bound here for the reason given at `createRanks`.
  const { codePointIn, isOtherLead, pairHash, seamIndex } = characterSeams;
  const { widthOf } = utf8;
  const noRank = NO_RANK;
  const byteIds = idsOfBytes();

  return function mergeCharacters(out, view, start, end, units) {
    const { starts, ids, ranks } = units;
    let count = 0;
    let isTooLong = false;
    let i = start;
    for (; i < end && (view.getUint8(i) & 0xc0) === 0x80; i++) {
      if (count > 0) ranks[count - 1] = rankOf(view, i - 1, i + 1);
      addByte(units, count++, view, i);
    }
    /** Of the seam before the character at `i`. */
    let begin = noRank;
    let ending = noRank;
    if (count > 0 && i < end) {
      const index = seamIndex(groups[view.getUint16(i - 1)]!, view.getUint8(i + 1));
      begin = beginInside[index]!;
      ending = endInside[index]!;
    }
    let mayJoin = false;
    let isWholeBefore = false;
    let lead = view.getUint8(i);
    let character = codePointIn(view, i);

    while (i < end) {
      const width = widthOf(lead);
      const charEnd = Math.min(i + width, end);
      const isComplete = i + width <= end;

      // The seam after the character.
      let nextBegin = noRank;
      let nextEnding = noRank;
      let nextMayJoin = false;
      let isApart = true;
      let nextLead = 0;
      let next = 0;
      if (charEnd < end) {
        nextLead = view.getUint8(charEnd);
        next = codePointIn(view, charEnd);
        const group = groups[view.getUint16(charEnd - 1)]!;
        if (group !== 0) {
          const index = seamIndex(group, view.getUint8(charEnd + 1));
          nextBegin = beginInside[index]!;
          nextEnding = endInside[index]!;
        }
        nextMayJoin = true;
        if (isOtherLead(lead) || isOtherLead(nextLead)) {
          const hash = pairHash(character, next);
          nextMayJoin = (pairs[hash >>> 5]! & (1 << hash)) !== 0;
        }
        isApart = !nextMayJoin && nextBegin === noRank && nextEnding === noRank;
      }

      const id = lead < 0x80 ? byteIds[lead]! : isComplete ? idOf(view, i, charEnd, lead) : -1;
      const isWhole = lead < 0x80 || (id >= 0 && id < ending && id < nextBegin);
      if (isApart && count === 0 && (id >= 0 || (width === 3 && isComplete))) {
        if (id >= 0) out.push(id);
        else appendParts(out, view, i);
      } else {
        let unitEnd = isWhole ? charEnd : i + 1;
        let unitId = isWhole ? id : byteIds[lead]!;
        let pair = noRank;
        if (!isWhole && width === 3 && isComplete) {
          pair = rankOf(view, i, i + 2);
          // The same for its first two bytes.
          if (pair < ending && pair < nextBegin && pair < rankOf(view, i + 1, charEnd)) {
            unitId = pair;
            unitEnd = i + 2;
          }
        }
        if (count > 0) {
          // Whether a token may contain the end of the unit before and this one: if not, a look-up is saved.
          const isPossible = isWhole
            ? isWholeBefore
              ? mayJoin
              : begin !== noRank
            : ending !== noRank && (isWholeBefore || begin !== noRank);
          ranks[count - 1] = isPossible ? rankOf(view, starts[count - 1]!, unitEnd) : noRank;
        }
        starts[count] = i;
        ids[count++] = unitId;
        for (let at = unitEnd; at < charEnd; at++) {
          ranks[count - 1] = rankOf(view, starts[count - 1]!, at + 1);
          addByte(units, count++, view, at);
        }
        if (isApart) {
          finish(out, view, units, count, charEnd);
          count = 0;
        } else if (count > maxUnits && !isTooLong) {
          if (search(out, view, starts[0]!, end)) return;
          isTooLong = true;
        }
      }

      i = charEnd;
      lead = nextLead;
      character = next;
      begin = nextBegin;
      ending = nextEnding;
      mayJoin = nextMayJoin;
      isWholeBefore = isWhole;
    }
    if (count > 0) finish(out, view, units, count, end);
  };

  function addByte({ starts, ids }: Units, unit: number, view: DataView, at: number): void {
    starts[unit] = at;
    ids[unit] = byteIds[view.getUint8(at)]!;
  }

  function finish(out: TokenId[], view: DataView, units: Units, count: number, end: number): void {
    if (count === 1) {
      out.push(units.ids[0]!);
      return;
    }
    units.starts[count] = end;
    units.ranks[count - 1] = noRank;
    mergeRun(out, view, units, count);
  }

  /** The id of a character of several bytes; -1 if it is not a token. */
  function idOf(view: DataView, start: number, end: number, lead: number): TokenId {
    if (isOtherLead(lead)) return characters[codePointIn(view, start)]! - 1;
    const rank = rankOf(view, start, end);
    return rank === noRank ? -1 : rank;
  }

  /** Appends the ids of a character of three bytes that is not a token. */
  function appendParts(out: TokenId[], view: DataView, start: number): void {
    const first = byteIds[view.getUint8(start)]!;
    const last = byteIds[view.getUint8(start + 2)]!;
    const left = rankOf(view, start, start + 2);
    const right = rankOf(view, start + 1, start + 3);
    if (left < right) out.push(left, last);
    else if (right !== noRank) out.push(first, right);
    else out.push(first, byteIds[view.getUint8(start + 1)]!, last);
  }
}
