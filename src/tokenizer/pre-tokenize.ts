/**
 * Cuts text into the pretokens that are encoded one by one: the matches of the `o200k` pattern
 *
 *     [^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?
 *   | [^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?
 *   | \p{N}{1,3}
 *   |  ?[^\s\p{L}\p{N}]+[\r\n/]*
 *   | \s*[\r\n]+ | \s+(?!\S) | \s+
 *
 * as found by a scanner over UTF-8. A scanner has its own class table (see `unicode-classes.ts`), allocates nothing,
 * and reads each run of characters twice at most.
 */

import { END_BYTE, type TextBytes } from "./text-bytes.ts";
import { CharClass, classBeyond, TABLE_SIZE, unicodeClasses } from "./unicode-classes.ts";
import * as utf8 from "./utf8.ts";

const { upper, lower, uncased, mark, number, space, newline, other } = CharClass;

/** Class of the byte that ends the text. */
const endOfText = 8;
/** Class of the lead byte of a multi-byte character. */
const multiByte = 9;

const SPACE = 0x20;
const APOSTROPHE = 0x27;
const SLASH = 0x2f;

export interface Scanner {
  /** Returns the end of the pretoken that begins at `start`, which must be inside the text. */
  readonly pretokenEnd: (text: TextBytes, start: number) => number;
  /** Must be called once, before any text is scanned that is not all ASCII. */
  readonly addUnicode: () => void;
}

/** A closure with bound functions, for the reasons given at `createRanks`: it runs for each pretoken of a text. */
export function createScanner(): Scanner {
  const { codePointAt, widthOf } = utf8;
  const classOfOthers = classBeyond;
  const tableSize = TABLE_SIZE;
  const classes = new Uint8Array(TABLE_SIZE);
  const byteClasses = new Uint8Array(256).fill(multiByte);
  byteClasses.set(unicodeClasses(new Uint8Array(0x80)));
  byteClasses[END_BYTE] = endOfText;

  /** The class of the character at `i`. */
  function classAt(bytes: Uint8Array, i: number): number {
    const lead = bytes[i]!;
    const byteClass = byteClasses[lead]!;
    if (byteClass !== multiByte) return byteClass;
    const codePoint = codePointAt(bytes, i);
    return codePoint < tableSize ? classes[codePoint]! : classOfOthers(codePoint);
  }

  /**
   * Fast path for the most common pretokens: an ASCII word with at most its first letter in upper case,
   * optionally after a space or symbol; or ASCII symbols, optionally after a space. Returns 0 for anything
   * else. Twice as fast as the general path.
   */
  function plainEndOf({ bytes, view }: TextBytes, start: number): number {
    let i = start;
    const first = byteClasses[bytes[i]!]!;
    if (first === space || first === other) i++;
    const letter = byteClasses[bytes[i]!]!;
    if (letter !== lower && letter !== upper) {
      const isSymbols = first === other || (letter === other && bytes[start] === SPACE);
      return isSymbols ? plainSymbolsEnd(bytes, i) : 0;
    }
    i++;
    const run = lowerRun(view, i);
    i += run;
    const after = byteClasses[bytes[i]!]!;
    if (after === multiByte || bytes[i] === APOSTROPHE) return 0;
    return after === upper && run === 0 && letter === upper ? 0 : i;
  }

  /** The end of symbols at `start`, or 0 if a non-ASCII character follows. */
  function plainSymbolsEnd(bytes: Uint8Array, start: number): number {
    let i = start;
    while (byteClasses[bytes[i]!] === other) i++;
    if (byteClasses[bytes[i]!] === multiByte) return 0;
    while (bytes[i] === SLASH || byteClasses[bytes[i]!] === newline) i++;
    return i;
  }

  function pretokenEnd(text: TextBytes, start: number): number {
    const plainEnd = plainEndOf(text, start);
    if (plainEnd > 0) return plainEnd;
    const { bytes } = text;
    const first = bytes[start]!;
    const charClass = classAt(bytes, start);
    const second = start + widthOf(first);
    switch (charClass) {
      case upper:
      case lower:
      case uncased:
      case mark:
        return wordEnd(bytes, start);
      case number:
        return numberEnd(bytes, second);
      case newline:
        return blankEnd(bytes, start);
      default: {
        // A single character other than a newline, letter or number may precede a word.
        const next = classAt(bytes, second);
        if (isWordClass(next)) return wordEnd(bytes, second);
        if (charClass === other) return symbolsEnd(bytes, second);
        if (first === SPACE && next === other) return symbolsEnd(bytes, second);
        return blankEnd(bytes, start);
      }
    }
  }

  /**
   * The first two lines of the pattern without the leading character. Both match a run of upper case, then a
   * run of lower case; uncased letters and marks count as either. The first line requires a lower-case
   * character. If none follows the upper-case run, the word backtracks to the last uncased letter: 漢ABC is
   * two pretokens, 漢 and ABC.
   */
  function wordEnd(bytes: Uint8Array, start: number): number {
    let i = start;
    let uncasedEnd = 0;
    let charClass = classAt(bytes, i);
    while (charClass === upper || charClass === uncased || charClass === mark) {
      i += widthOf(bytes[i]!);
      if (charClass !== upper) uncasedEnd = i;
      charClass = classAt(bytes, i);
    }
    if (charClass !== lower) return contractionEnd(bytes, uncasedEnd || i);
    while (charClass === lower || charClass === uncased || charClass === mark) {
      i += widthOf(bytes[i]!);
      charClass = classAt(bytes, i);
    }
    return contractionEnd(bytes, i);
  }

  /** Up to three numbers; the first one ends at `i`. */
  function numberEnd(bytes: Uint8Array, i: number): number {
    if (classAt(bytes, i) !== number) return i;
    const second = i + widthOf(bytes[i]!);
    return classAt(bytes, second) === number ? second + widthOf(bytes[second]!) : second;
  }

  /** The rest of a run of symbols, then any newlines and slashes. */
  function symbolsEnd(bytes: Uint8Array, start: number): number {
    let i = start;
    for (
      let charClass = classAt(bytes, i);
      charClass === other || charClass === mark;
      charClass = classAt(bytes, i)
    ) {
      i += widthOf(bytes[i]!);
    }
    while (bytes[i] === SLASH || byteClasses[bytes[i]!] === newline) i++;
    return i;
  }

  /**
   * White space: up to the last newline if there is one, else all of it except the last character, which
   * belongs to the next pretoken.
   */
  function blankEnd(bytes: Uint8Array, start: number): number {
    let i = start;
    let last = start;
    let newlineEnd = 0;
    let charClass = classAt(bytes, i);
    while (charClass === space || charClass === newline) {
      last = i;
      i += widthOf(bytes[i]!);
      if (charClass === newline) newlineEnd = i;
      charClass = classAt(bytes, i);
    }
    if (newlineEnd > 0) return newlineEnd;
    return charClass === endOfText || last === start ? i : last;
  }

  return { pretokenEnd, addUnicode: () => void unicodeClasses(classes) };
}

function isWordClass(charClass: number): boolean {
  return charClass >= upper && charClass <= mark;
}

/** The end of `'s`, `'t`, `'re`, `'ve`, `'m`, `'ll` or `'d` in any case at `i`; else `i`. */
function contractionEnd(bytes: Uint8Array, i: number): number {
  if (bytes[i] !== APOSTROPHE) return i;
  const first = bytes[i + 1]!;
  // The pattern's case-insensitive group also matches the long s, ſ.
  if (first === 0xc5 && bytes[i + 2] === 0xbf) return i + 3;
  const second = bytes[i + 2]! | 0x20;
  switch (first | 0x20) {
    case 0x73: // s
    case 0x74: // t
    case 0x6d: // m
    case 0x64: // d
      return i + 2;
    case 0x72: // r
    case 0x76: // v
      return second === 0x65 ? i + 3 : i;
    case 0x6c: // l
      return second === 0x6c ? i + 3 : i;
    default:
      return i;
  }
}

/** Number of lower-case ASCII letters at `i`, counted four at a time. */
function lowerRun(view: DataView, i: number): number {
  for (let length = 0; ; length += 4) {
    const word = view.getInt32(i + length, true);
    const low = word & 0x7f7f7f7f;
    // The highest bit of each byte: at least `a`, at most `z`, ASCII.
    const isLower = (low + 0x1f1f1f1f) & ~(low + 0x05050505) & ~word;
    const isOther = ~isLower & 0x80808080;
    if (isOther !== 0) return length + ((31 - Math.clz32(isOther & -isOther)) >> 3);
  }
}
