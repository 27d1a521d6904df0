/**
 * Where a merge may begin with whole characters instead of bytes.
 *
 * Byte pair encoding starts from single bytes, three for each Han character, and most of its work
 * is to put the characters together again. That can be skipped for a character if no token that
 * covers only a part of it can reach beyond it: then its bytes have to join with each other
 * before one of them can join with anything else.
 *
 * Such tokens exist, some 800 of 200,000: ` \xe5`, or the last byte of one character with all of
 * the next. Each is itself the result of a merge at one of the character boundaries inside it. So
 * it is enough to know, for the two bytes at a boundary, whether any of these tokens has them there.
 * A character between two boundaries of which none does is safe.
 *
 * This uses that in `o200k_base` every token is what merging its own bytes gives, through tokens of
 * lower rank only; a test checks it for all of them.
 */

import { ORDINARY_COUNT, type TokenBytes } from "./token-bytes.ts";
import { isContinuation, widthOf } from "./utf8.ts";

/** Indexed by {@link seamOf}: 1 if a token with a part of a character reaches across these bytes. */
export type CharacterSeams = Uint8Array;

export function seamOf(before: number, after: number): number {
  return (before << 8) | after;
}

export function findSeams({ bytes, ends }: TokenBytes): CharacterSeams {
  const seams = new Uint8Array(0x10000);
  for (let id = 0; id < ORDINARY_COUNT; id++) {
    const start = ends[id]!;
    const end = ends[id + 1]!;
    // Parts of characters have a byte above 127 at one end.
    if ((bytes[start]! | bytes[end - 1]!) < 0x80 || isWhole(bytes, start, end)) continue;
    for (let i = start + 1; i < end; i++) {
      if (!isContinuation(bytes[i]!)) seams[seamOf(bytes[i - 1]!, bytes[i]!)] = 1;
    }
  }
  return seams;
}

/** Whether the token begins and ends where a character does. */
function isWhole(bytes: Uint8Array, start: number, end: number): boolean {
  if (isContinuation(bytes[start]!)) return false;
  let last = end - 1;
  while (isContinuation(bytes[last]!)) last--;
  return last + widthOf(bytes[last]!) === end;
}
