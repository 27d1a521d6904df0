/** Random texts with more edge cases of the pattern than uniform ones. */

import * as fc from "fast-check";
import { ADDED_IN_17, LOWER_UNTIL_16 } from "../../scripts/unicode-classes.ts";
import { anyCharacter } from "../helpers/any-character.ts";

const PARTS = [
  Array.from("aZé09.,'/-_ \n\r\t"),
  ["'s", "'LL", "'re", "'Ve", "'ſ", "’s", "\r\n", "  ", "   ", "//", "<|end|>", "function"],
  ["ǅ", "ʰ", "ª", "漢", "の", "한", "ا", "א", "ก", "अ", "्", "\u0301", "\u20dd", "١", "Ⅷ", "²"],
  ["\u00a0", "\u3000", "\u2028", "\u200b", "\u00ad", "ß", "İ", "ſ", "K", "ŉ", "«", "€", "😀"],
  ["👩🏽‍🚀", "𝐀", "𠀀", "𞤀", "\u0000", "\uFFFD", "\uE000", "\u{10FFFF}", "\u0085", "\uFEFF"],
].flat();

const loneSurrogate = fc
  .integer({ min: 0xd800, max: 0xdfff })
  .map((unit) => String.fromCharCode(unit));

/** Any text, including lone surrogates. */
export const texts = fc
  .array(
    fc.oneof(
      { weight: 9, arbitrary: fc.constantFrom(...PARTS) },
      { weight: 3, arbitrary: fc.string({ unit: anyCharacter, maxLength: 3 }) },
      { weight: 1, arbitrary: loneSurrogate },
    ),
    { maxLength: 24 },
  )
  .map((parts) => parts.join(""));

/** Texts that are split alike by Unicode 16.0 and by the engine's version. */
export const timelessTexts = texts.filter((text) =>
  Array.from(text).every((char) => !isClassedAnew(char.codePointAt(0) ?? 0)),
);

/** Texts that js-tiktoken splits like the reference: JavaScript's `\s` differs, and it lacks `'ſ`. */
export const oracleTexts = timelessTexts.filter((text) => !/[\u0085\uFEFF]|'ſ/u.test(text));

function isClassedAnew(codePoint: number): boolean {
  return (
    codePoint === LOWER_UNTIL_16 ||
    ADDED_IN_17.some(([first, last]) => codePoint >= first && codePoint <= last)
  );
}
