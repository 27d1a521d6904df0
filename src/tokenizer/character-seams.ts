/**
 * What tokens there are at the seams between characters. It saves most work of a merge in other scripts than Latin.
 *
 * **Where merging may start with whole characters.** Byte pair encoding starts from single bytes, three for each Han
 * character. A character that is a token may be one unit from the start if its bytes join with each other before one of
 * them joins with anything else: if all tokens that begin or end inside of it, and extend beyond it, have higher ranks. There
 * are 794 such tokens: ` \xe5`, or the last byte of one character with all of the next. They are kept by the last byte before
 * the seam and the first two after it, which tell the scripts of India apart.
 *
 * **Where a piece falls apart.** A merge joins across a seam only if a token contains what is on both sides. If there is
 * none, the texts on both sides are merged independently of each other. Of 400 million pairs of Han characters, tokens
 * contain 20,000.
 *
 *     groups       [byte before, byte after] → group of seams               64 KB
 *     beginInside  [group, second byte after] → lowest rank of a token that begins inside the character before   43 KB
 *     endInside    the same, of a token that ends inside the character after                                     43 KB
 *     pairs        [hash] → whether tokens contain these two characters     64 KB
 *     characters   [code point] → id + 1, if the character is a token      256 KB
 *
 * The last two have only letters that the common tokens lack, see `token-bytes.ts`. Most other characters are punctuation
 * and emoji.
 *
 * This relies on a property of `o200k_base`: merging the bytes of a token gives that token, through tokens of
 * rising rank. Tests verify it for all tokens.
 */

import { NO_RANK } from "./token-tables.ts";
import type { TokenBytes } from "./token-bytes.ts";
import type { TokenId } from "./tokenizer.ts";

export interface CharacterSeams {
  /** Indexed by the bytes at a seam as a big-endian number; 0 if no token begins or ends inside a character there. */
  readonly groups: Uint8Array;
  /** Both are indexed by {@link seamIndex}. `NO_RANK` if there is no such token. */
  readonly beginInside: Int32Array;
  readonly endInside: Int32Array;
  /** See {@link pairHash}. */
  readonly pairs: Int32Array;
  readonly characters: Int32Array;
}

/** The common tokens that begin or end inside a character, and contain bytes of another one. */
const COMMON_IDS = [
  559, 1322, 1474, 2969, 9552, 14_524, 22_861, 23_966, 24_711, 25_530, 25_701, 32_367, 34_937,
  35_353, 37_246, 42_308, 49_809, 51_921, 59_790, 60_558, 61_138, 63_078, 74_580, 76_559, 78_747,
  93_643, 95_814, 102_331, 104_771, 113_592, 113_718, 115_963, 116_091, 118_910, 121_792, 130_321,
  130_530, 135_970, 136_440, 139_786, 141_927, 151_279, 160_065, 160_352, 169_883, 173_468, 175_591,
  181_418, 184_743, 186_978, 197_348,
];
/** Groups there are, and one for none. */
const GROUPS = 167;
const PAIR_BITS = 19;
/** Tokens per call of `addPart`, for the reason given at `unpackPart` in `token-bytes.ts`. With 128, it takes 4 ms more. */
const PART = 16;

/** Takes 12 ms, of which 10 pass before the code is compiled. */
export function createCharacterSeams(tokens: TokenBytes): CharacterSeams {
  const tables = {
    groups: new Uint8Array(0x10000),
    beginInside: new Int32Array(GROUPS << 6).fill(NO_RANK),
    endInside: new Int32Array(GROUPS << 6).fill(NO_RANK),
    pairs: new Int32Array(1 << (PAIR_BITS - 5)),
    characters: new Int32Array(0x10000),
    groupCount: 0,
  };
  for (const ids of [Int32Array.from(COMMON_IDS), tokens.otherIds()]) {
    for (let at = 0; at < ids.length; at += PART) {
      addPart(tables, tokens, ids, at, Math.min(at + PART, ids.length));
    }
  }
  return tables;
}

/** Whether a letter begins with this byte that is not in any common token. */
export function isOtherLead(lead: number): boolean {
  return lead >= 0xc4 && lead < 0xef && lead !== 0xe2;
}

/** The entry of a seam in a group, by the second byte after the seam. */
export function seamIndex(group: number, second: number): number {
  return (group << 6) | (second & 0x3f);
}

/** The upper bits are the word of the filter, the lower five the bit in it. */
export function pairHash(before: number, after: number): number {
  const mixed = Math.imul(before ^ Math.imul(after, 0x2c9277b5), 0x9e3779b1);
  return mixed >>> (32 - PAIR_BITS);
}

/** The code point of the character at `i`. Reads up to three bytes beyond the end of incomplete text. */
export function codePointIn(view: DataView, i: number): number {
  const lead = view.getUint8(i);
  if (lead < 0x80) return lead;
  const second = view.getUint8(i + 1) & 0x3f;
  if (lead < 0xe0) return ((lead & 0x1f) << 6) | second;
  const third = view.getUint8(i + 2) & 0x3f;
  if (lead < 0xf0) return ((lead & 0x0f) << 12) | (second << 6) | third;
  return ((lead & 0x07) << 18) | (second << 12) | (third << 6) | (view.getUint8(i + 3) & 0x3f);
}

interface Tables extends CharacterSeams {
  /** Groups so far, without that of no seams. */
  groupCount: number;
}

/** With inlined copies of the functions above, `startOf` and `lengthOf`, as in `token-bytes.ts`. */
function addPart(
  tables: Tables,
  { view, places }: TokenBytes,
  ids: Int32Array,
  from: number,
  to: number,
): void {
  const { characters, pairs } = tables;
  for (let at = from; at < to; at++) {
    const id = ids[at]!;
    const place = places[id]!;
    const start = place >> 8;
    const end = start + (place & 0xff);
    let i = start;
    let lead = view.getUint8(i);
    while ((lead & 0xc0) === 0x80 && ++i < end) lead = view.getUint8(i);
    if (i > start && i < end) addRank(tables, tables.beginInside, view, i, end, id);
    let before = -1;
    while (i < end) {
      const charStart = i;
      let character = view.getUint8(i++);
      if (character >= 0xf0) {
        const low = view.getInt32(charStart, false);
        character =
          (low & 0x3f) | ((low >> 2) & 0xfc0) | ((low >> 4) & 0x3f000) | ((low >> 6) & 0x1c0000);
        i += 3;
      } else if (character >= 0xe0) {
        const second = view.getUint8(i) & 0x3f;
        character = ((character & 0x0f) << 12) | (second << 6) | (view.getUint8(i + 1) & 0x3f);
        i += 2;
      } else if (character >= 0x80) {
        character = ((character & 0x1f) << 6) | (view.getUint8(i) & 0x3f);
        i++;
      }
      if (i > end) {
        if (charStart > start) addRank(tables, tables.endInside, view, charStart, end, id);
      } else if (before >= 0) {
        const mixed = Math.imul(before ^ Math.imul(character, 0x2c9277b5), 0x9e3779b1);
        pairs[mixed >>> (32 - PAIR_BITS + 5)]! |= 1 << (mixed >>> (32 - PAIR_BITS));
      } else if (charStart === start && i === end && character < 0x10000) {
        characters[character] = id + 1;
      }
      before = character;
    }
  }
}

/** Notes the token at the seam before `seam`. */
function addRank(
  tables: Tables,
  ranks: Int32Array,
  view: DataView,
  seam: number,
  end: number,
  id: TokenId,
): void {
  const key = view.getUint16(seam - 1);
  if (tables.groups[key] === 0) tables.groups[key] = ++tables.groupCount;
  const group = tables.groups[key]!;
  const isKnown = seam + 1 < end && view.getUint8(seam) >= 0x80;
  const first = isKnown ? view.getUint8(seam + 1) : 0;
  const last = isKnown ? first : 0x3f;
  for (let second = first; second <= last; second++) {
    const index = seamIndex(group, second);
    ranks[index] = Math.min(ranks[index]!, id);
  }
}
