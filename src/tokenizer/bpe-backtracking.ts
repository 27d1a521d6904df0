/**
 * Byte pair encoding of very long pieces by a search from left to right, in linear time: up to four times as fast as
 * `bpe-long.ts`, and most of all where nearly all units join.
 *
 * A sequence of tokens is the encoding of its text if and only if each pair of adjacent tokens is the encoding of their
 * joined text, see `piece-chunks.ts`. So the search takes the longest token that may follow the one before, again and again.
 * Where none may follow, it takes back the last one and tries a shorter one there. The encoding of the text up to some
 * place is unique, so a place that did not lead to the end once never will, and each is tried once.
 *
 * What was tried in vain after a token is remembered: in text that repeats, like a line of 1000 `=`, the first try is then
 * the right one. This is forgotten after each call, so that no time tells what others have encoded.
 */

import type { Ranks } from "./ranks.ts";
import { NO_RANK } from "./token-tables.ts";
import { BYTE_COUNT, lengthOf, startOf, type TokenBytes } from "./token-bytes.ts";
import { createTokenPrefixes } from "./token-prefixes.ts";
import type { TokenId } from "./tokenizer.ts";

export interface Backtracker {
  /**
   * Appends the ids of the bytes `view[start … end)` and returns true, or returns false if merging them takes less time.
   */
  readonly search: (out: TokenId[], view: DataView, start: number, end: number) => boolean;
  /** Builds the tables that the first of these bytes need, which {@link search} would do otherwise. */
  readonly prepare: (view: DataView, start: number, end: number) => void;
  /** Must be called once text may contain other than the common tokens. */
  readonly addOthers: () => void;
}

/** Pairs of tokens that are checked for each byte before the search is given up. Random letters need 1, Thai 0.5. */
const MAX_CHECKS = 2;
const CHOICE_BITS = 11;
/** Words of a remembered choice: the token before, the longest token here, and the token to try first. */
const CHOICE = 3;
const SHORTER_BITS = 10;
const NONE = -1;
/** Chunks of a piece have as many, and pieces that are not cut. */
const KEPT_BYTES = 8192 + 4;

/** What is known of each place of a text. */
interface Places {
  /** Whether nothing leads from there to the end. */
  readonly isDead: Uint8Array;
  /** Whether a remembered token is tried before all others. */
  readonly isRemembered: Uint8Array;
  readonly longests: Int32Array;
}

export function createBacktracker(tokens: TokenBytes, rankOf: Ranks["rankOf"]): Backtracker {
  // Bound here for the reason given at `createRanks`.
  const { view: tokenView, places } = tokens;
  const { longest, addOthers } = createTokenPrefixes(tokens, rankOf);
  const noRank = NO_RANK;
  const byteCount = BYTE_COUNT;
  const choices = new Int32Array(CHOICE << CHOICE_BITS);
  /** Pairs of a token and the next shorter one. */
  const shorters = new Int32Array(2 << SHORTER_BITS);
  /** By id, see `readHalves`. */
  const halves = new Int32Array(2 * places.length);
  const keptPlaces = createPlaces(KEPT_BYTES);
  /** Pairs that may still be checked. */
  let checks = 0;

  /** For a text of this many bytes. */
  function placesFor(length: number): Places {
    if (length > KEPT_BYTES) return createPlaces(length);
    keptPlaces.isDead.fill(0, 0, length + 1);
    keptPlaces.isRemembered.fill(0, 0, length);
    return keptPlaces;
  }

  function search(out: TokenId[], view: DataView, start: number, end: number): boolean {
    choices.fill(NONE);
    shorters.fill(NONE);
    checks = MAX_CHECKS * (end - start);
    const first = out.length;
    const { isDead, isRemembered, longests } = placesFor(end - start);
    let place = 0;
    let before: TokenId = NONE;
    let token = longest(view, start, end);
    longests[0] = token;
    for (;;) {
      if (token === NONE) {
        isDead[place] = 1;
        out.length--;
        place -= lengthOf(places[before]!);
        token = before;
        before = out.length > first ? out.at(-1)! : NONE;
        token = nextChoice(token);
        continue;
      }
      const after = place + lengthOf(places[token]!);
      if (isDead[after] === 1) {
        token = nextChoice(token);
        continue;
      }
      out.push(token);
      if (start + after === end) return true;
      if (checks < 0) {
        out.length = first;
        return false;
      }
      const wasLongest = longests[place] === token;
      before = token;
      place = after;
      token = longest(view, start + place, end);
      longests[place] = token;
      const choice = choiceOf(before, token);
      if (choices[choice] === before && choices[choice + 1] === token) {
        token = choices[choice + 2]!;
        isRemembered[place] = 1;
      } else if (!mayFollow(before, token, view, start + place, wasLongest)) {
        token = follower(before, shorterOf(token), view, start + place);
        remember(token);
      }
    }

    /** What to try at `place` when `failed` has led nowhere. */
    function nextChoice(failed: TokenId): TokenId {
      let next = isRemembered[place] === 1 ? longests[place]! : shorterOf(failed);
      isRemembered[place] = 0;
      while (next !== NONE && isDead[place + lengthOf(places[next]!)] === 1) next = shorterOf(next);
      next = follower(before, next, view, start + place);
      if (next !== NONE) remember(next);
      return next;
    }

    function remember(chosen: TokenId): void {
      const choice = choiceOf(before, longests[place]!);
      choices[choice] = before;
      choices[choice + 1] = longests[place]!;
      choices[choice + 2] = chosen;
    }
  }

  /** The first of `token` and the shorter ones it begins with that may follow `before`; none if none may. */
  function follower(before: TokenId, token: TokenId, view: DataView, at: number): TokenId {
    let found = token;
    if (before === NONE) return found;
    while (found !== NONE && !mayFollow(before, found, view, at, false)) found = shorterOf(found);
    return found;
  }

  /** The longest token that `token` begins with, except for itself. */
  function shorterOf(token: TokenId): TokenId {
    const entry = 2 * (Math.imul(token, 0x2c9277b5) >>> (32 - SHORTER_BITS));
    if (shorters[entry] === token) return shorters[entry + 1]!;
    const start = startOf(places[token]!);
    const length = lengthOf(places[token]!);
    const shorter = length === 1 ? NONE : longest(tokenView, start, start + length - 1);
    shorters[entry] = token;
    shorters[entry + 1] = shorter;
    return shorter;
  }

  /**
   * Whether two tokens remain when their joined text, which they meet in at `at`, is merged. Undoes their merges, the last
   * one first: at each time, what then meets at `at` must not have a merge that comes earlier. `wasLongest` says that no
   * token begins with all of `before` and goes further, so the two are not one.
   */
  function mayFollow(
    before: TokenId,
    token: TokenId,
    view: DataView,
    at: number,
    wasLongest: boolean,
  ): boolean {
    checks--;
    let left = before;
    let right = token;
    let start = at - lengthOf(places[left]!);
    let end = at + lengthOf(places[right]!);
    if (!wasLongest && rankOf(view, start, end) !== noRank) return false;
    for (;;) {
      let next;
      if (left > right) {
        if (left < byteCount) return true;
        next = left;
        left = halfOf(left, 1);
        start = at - lengthOf(places[left]!);
      } else {
        if (right < byteCount) return true;
        // Of equal merges, the leftmost comes first.
        next = right + 1;
        right = halfOf(right, 0);
        end = at + lengthOf(places[right]!);
      }
      if (rankOf(view, start, end) < next) return false;
    }
  }

  /** The first (0) or second (1) of the two tokens that are merged to `token`. */
  function halfOf(token: TokenId, side: number): TokenId {
    const known = halves[2 * token + side]!;
    if (known !== 0) return known - 1;
    tokens.readHalves(halves, token);
    return halves[2 * token + side]! - 1;
  }

  const prepare = (view: DataView, start: number, end: number) => {
    longest(view, start, end);
  };
  return { search, prepare, addOthers };
}

function choiceOf(before: TokenId, token: TokenId): number {
  const hash = Math.imul(before, 0x2c9277b5) ^ Math.imul(token, 0x85ebca6b);
  return CHOICE * (hash >>> (32 - CHOICE_BITS));
}

function createPlaces(length: number): Places {
  return {
    isDead: new Uint8Array(length + 1),
    isRemembered: new Uint8Array(length),
    longests: new Int32Array(length),
  };
}
