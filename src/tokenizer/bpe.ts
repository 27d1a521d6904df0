/**
 * Byte pair encoding of one piece of text: repeatedly joins the two adjacent units whose joined token has the
 * lowest rank, the leftmost first, until no two form a token.
 *
 * The units form a doubly linked list in arrays, indexed by their start. The rank of each unit with its right
 * neighbour is cached, so that a merge looks up only two ranks. With few units, the lowest rank is found by a
 * scan; for many see `bpe-long.ts`, and for very long pieces and runs `bpe-backtracking.ts`. What is split into units,
 * and how, is in `character-units.ts`.
 */

import { type Backtracker, createBacktracker } from "./bpe-backtracking.ts";
import { createLongMerger } from "./bpe-long.ts";
import { createCharacterSeams, isOtherLead } from "./character-seams.ts";
import {
  type CharacterMerger,
  createCharacterMerger,
  type Units,
  unitsFor,
} from "./character-units.ts";
import type { Ranks } from "./ranks.ts";
import { idsOfBytes, type TokenBytes } from "./token-bytes.ts";
import { NO_RANK } from "./token-tables.ts";
import type { TokenId } from "./tokenizer.ts";

export interface PieceMerger {
  /**
   * Appends the ids of the bytes `view[start … end)`: a piece, or a part of one whose first and last
   * characters may be incomplete. Very long ones are searched as in `bpe-backtracking.ts` if `maySearch`. Returns whether
   * the next part of the same piece should be, too.
   */
  readonly appendTo: (
    out: TokenId[],
    view: DataView,
    start: number,
    end: number,
    maySearch: boolean,
  ) => boolean;
  /** Builds the tables that encoding these bytes needs first, up to 12 ms once; without it, {@link appendTo} does. */
  readonly prepare: (view: DataView, start: number, end: number) => void;
  /** Must be called once text may contain other than the common tokens. */
  readonly addOthers: () => void;
}

/** Up to this many units, scanning all of them is faster. Any limit from 64 to 256 performs alike. */
const MAX_SCANNED = 96;
/** ASCII pieces of fewer bytes are not worth the tables that a search needs, 20 ms at first. */
const MIN_SEARCHED_ASCII = 4096;
/** For signs, emoji and letters of Latin-1 these take 5 ms, and merging takes two to four times as long as a search. */
const MIN_SEARCHED_COMMON = 512;
/** The tables of `character-seams.ts` take 12 ms, and make encoding Han and Hangul twice as fast. */
const MAX_MERGED_BYTES = 16_384;
/** Pieces, and chunks of them, up to this many bytes use preallocated arrays. */
const KEPT_BYTES = 8192 + 4;

/** A closure with bound functions, for the reasons given at `createRanks`. Saves a quarter of the time. */
export function createPieceMerger(tokens: TokenBytes, rankOf: Ranks["rankOf"]): PieceMerger {
  /** Both are built for the first piece that needs them. */
  let backtracker: Backtracker | undefined;
  let mergeCharacters: CharacterMerger | undefined;
  /** Bytes of pieces with other characters than ASCII that may be merged before {@link mergeCharacters} is built. */
  let bytesLeft = MAX_MERGED_BYTES;
  let hasOthers = false;
  let maySearchRuns = false;
  const mergeLong = createLongMerger(rankOf);
  const byteIds = idsOfBytes();
  const noRank = NO_RANK;
  const keptUnits = unitsFor(KEPT_BYTES);
  const next = new Int32Array(MAX_SCANNED);
  const previous = new Int32Array(MAX_SCANNED + 1);

  function appendTo(
    out: TokenId[],
    view: DataView,
    start: number,
    end: number,
    maySearch: boolean,
  ): boolean {
    maySearchRuns = maySearch;
    const length = end - start;
    if (length >= minSearched(view, start, end) && search(out, view, start, end)) return true;
    const units = length > KEPT_BYTES ? unitsFor(length) : keptUnits;
    if (length <= MAX_SCANNED && isAllAscii(view, start, end)) {
      mergeBytes(out, view, start, end, units);
      return maySearchRuns;
    }
    if (hasOthers && mergeCharacters === undefined) {
      bytesLeft -= length;
      if (bytesLeft < 0 || isLongOther(view, start, end)) addCharacters();
    }
    if (mergeCharacters === undefined) mergeBytes(out, view, start, end, units);
    else mergeCharacters(out, view, start, end, units);
    return maySearchRuns;
  }

  function addCharacters(): void {
    const seams = createCharacterSeams(tokens);
    mergeCharacters = createCharacterMerger(rankOf, seams, {
      mergeRun,
      search,
      maxUnits: MAX_SCANNED,
    });
  }

  function mergeBytes(
    out: TokenId[],
    view: DataView,
    start: number,
    end: number,
    units: Units,
  ): void {
    const { starts, ids, ranks } = units;
    for (let i = start; i < end; i++) {
      const unit = i - start;
      starts[unit] = i;
      ids[unit] = byteIds[view.getUint8(i)]!;
      ranks[unit] = i + 1 < end ? rankOf(view, i, i + 2) : noRank;
    }
    starts[end - start] = end;
    mergeRun(out, view, units, end - start);
  }

  function backtrackerNow(): Backtracker {
    backtracker ??= createBacktracker(tokens, rankOf);
    if (hasOthers) backtracker.addOthers();
    return backtracker;
  }

  function mergeRun(out: TokenId[], view: DataView, units: Units, count: number): void {
    if (count <= MAX_SCANNED) mergeShort(out, view, units, count);
    else mergeLong(out, view, units, count);
  }

  /** Instead of merging a long run and what follows it. */
  function search(out: TokenId[], view: DataView, start: number, end: number): boolean {
    if (!maySearchRuns || (end - start < MIN_SEARCHED_ASCII && isAscii(view, end))) return false;
    maySearchRuns = backtrackerNow().search(out, view, start, end);
    return maySearchRuns;
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

  const prepare = (view: DataView, start: number, end: number) => {
    if (end - start >= minSearched(view, start, end)) backtrackerNow().prepare(view, start, end);
    else if (mergeCharacters === undefined && isLongOther(view, start, end)) addCharacters();
  };
  const addOthers = () => {
    hasOthers = true;
  };
  return { appendTo, prepare, addOthers };
}

/** The length from which a piece is searched as a whole. One with other letters falls apart into runs first. */
function minSearched(view: DataView, start: number, end: number): number {
  if (isAscii(view, end)) return MIN_SEARCHED_ASCII;
  return isOtherLead(firstLead(view, start, end)) ? Infinity : MIN_SEARCHED_COMMON;
}

function isLongOther(view: DataView, start: number, end: number): boolean {
  return end - start >= MIN_SEARCHED_COMMON && isOtherLead(firstLead(view, start, end));
}

/** The first byte that begins a character. */
function firstLead(view: DataView, start: number, end: number): number {
  let i = start;
  while (i + 1 < end && (view.getUint8(i) & 0xc0) === 0x80) i++;
  return view.getUint8(i);
}

/** Whether a piece is most likely ASCII, by its last byte. */
function isAscii(view: DataView, end: number): boolean {
  return view.getUint8(end - 1) < 0x80;
}

/** May return false if other characters follow. */
function isAllAscii(view: DataView, start: number, end: number): boolean {
  for (let i = start; i < end; i += 4) {
    if ((view.getInt32(i) & 0x80808080) !== 0) return false;
  }
  return true;
}
