/**
 * Character classes of the pattern that splits text into pretokens, pinned to Unicode 16.0.
 *
 * The runtime's own `\p{…}` would change ids with the Node version, and differ from the reference, which uses
 * 16.0. The table in `unicode-16.ts` is fixed.
 */

import { UNICODE_16_RUNS } from "./unicode-16.ts";

/** The classes that the pattern distinguishes. */
export const CharClass = {
  /** All other characters: punctuation, symbols, controls, unassigned code points. */
  other: 0,
  /** `\p{Lu}\p{Lt}` */
  upper: 1,
  /** `\p{Ll}` */
  lower: 2,
  /** `\p{Lm}\p{Lo}`: counts as upper and as lower case. */
  uncased: 3,
  /** `\p{M}`: like `uncased`, but may also begin a pretoken or occur among punctuation. */
  mark: 4,
  /** `\p{N}` */
  number: 5,
  /** Unicode's White_Space except the newlines. JavaScript's `\s` is a different set (U+0085, U+FEFF). */
  space: 6,
  /** Carriage return and line feed. */
  newline: 7,
} as const;

/** The letters of the packed table, in the order of the numbers above. */
const LETTERS = "oulbmns";

/**
 * Number of code points in the table: planes 0 to 3, which contain all letters. {@link classBeyond} covers the rest: a
 * table of all planes costs 850 KB more on Workers, where new arrays are cleared by writing them.
 */
export const TABLE_SIZE = 0x40000;

/** Variation selectors, the only characters outside the table that are not of the class `other`. */
const FIRST_SELECTOR = 0xe0100;
const LAST_SELECTOR = 0xe01ef;

/** The class of a code point from {@link TABLE_SIZE} on. */
export function classBeyond(codePoint: number): number {
  return codePoint >= FIRST_SELECTOR && codePoint <= LAST_SELECTOR
    ? CharClass.mark
    : CharClass.other;
}

/** Writes the class of each code point, as far as there is room. */
export function unicodeClasses(classes: Uint8Array = new Uint8Array(TABLE_SIZE)): Uint8Array {
  // Reads runs such as `o9s5`: a class letter and, unless it is 1, the length in decimal.
  const runs = UNICODE_16_RUNS;
  let codePoint = 0;
  // Not `matchAll`: a loop is 2 to 7 ms faster when it runs for the first time.
  for (let i = 0; i < runs.length && codePoint < classes.length;) {
    const charClass = LETTERS.indexOf(runs.charAt(i++));
    // A line break between two runs.
    if (charClass < 0) continue;
    let length = 0;
    for (; i < runs.length && isDigit(runs.charCodeAt(i)); i++) {
      length = length * 10 + runs.charCodeAt(i) - ZERO;
    }
    const end = codePoint + (length || 1);
    if (charClass !== CharClass.other) classes.fill(charClass, codePoint, end);
    codePoint = end;
  }
  classes[0x0a] = CharClass.newline;
  classes[0x0d] = CharClass.newline;
  return classes;
}

const ZERO = 0x30;

function isDigit(unit: number): boolean {
  return unit >= ZERO && unit < ZERO + 10;
}
