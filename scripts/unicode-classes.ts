/**
 * Writes `src/tokenizer/unicode-16.ts`, the class of every code point, from the regular expressions
 * of the engine that runs it:
 *
 *     node scripts/unicode-classes.ts
 *
 * The reference tokenizer reads Unicode 16.0, so the result must be 16.0 whatever the engine reads;
 * what 17.0 changed is taken back by the list below.
 */

import { writeFileSync } from "node:fs";

/** One letter for each class, in the order of the numbers in `CharClass`. */
const CLASSES: readonly (readonly [letter: string, pattern: RegExp])[] = [
  ["o", /[^]/u],
  ["u", /[\p{Lu}\p{Lt}]/u],
  ["l", /\p{Ll}/u],
  ["b", /[\p{Lm}\p{Lo}]/u],
  ["m", /\p{M}/u],
  ["n", /\p{N}/u],
  ["s", /\p{White_Space}/u],
];

/** Letters, marks and numbers of Unicode 17.0 that are unassigned in 16.0: first and last code point. */
export const ADDED_IN_17: readonly (readonly [first: number, last: number])[] = [
  [0x88f, 0x88f],
  [0xc5c, 0xc5c],
  [0xcdc, 0xcdc],
  [0x1acf, 0x1add],
  [0x1ae0, 0x1aeb],
  [0xa7ce, 0xa7cf],
  [0xa7d2, 0xa7d2],
  [0xa7d4, 0xa7d4],
  [0xa7f1, 0xa7f1],
  [0x10940, 0x10959],
  [0x10ec5, 0x10ec7],
  [0x10efa, 0x10efb],
  [0x11b60, 0x11b67],
  [0x11db0, 0x11ddb],
  [0x11de0, 0x11de9],
  [0x16ea0, 0x16eb8],
  [0x16ebb, 0x16ed3],
  [0x16ff2, 0x16ff6],
  [0x187f8, 0x187ff],
  [0x18d09, 0x18d1e],
  [0x18d80, 0x18df2],
  [0x1e6c0, 0x1e6de],
  [0x1e6e0, 0x1e6f5],
  [0x1e6fe, 0x1e6ff],
  [0x2b73a, 0x2b73f],
  [0x2cea2, 0x2cead],
  [0x323b0, 0x33479],
];

/** ʕ is a lower-case letter in 16.0 and a letter without case in 17.0. */
export const LOWER_UNTIL_16 = 0x295;

/** The letter of each code point's class under Unicode 16.0, for an engine that reads `unicodeVersion`. */
function classLetters(unicodeVersion: string): string[] {
  if (unicodeVersion !== "16.0" && unicodeVersion !== "17.0") {
    throw new Error(`no list of differences between Unicode 16.0 and ${unicodeVersion}`);
  }
  const letters = Array.from({ length: 0x110000 }, (_, codePoint) => letterOf(codePoint));
  if (unicodeVersion === "17.0") {
    for (const [first, last] of ADDED_IN_17) letters.fill("o", first, last + 1);
    letters[LOWER_UNTIL_16] = "l";
  }
  return letters;
}

/** Run lengths: a class letter, then the length in decimal unless it is 1. */
function packClasses(letters: readonly string[]): string {
  let packed = "";
  for (let start = 0, end = 0; start < letters.length; start = end) {
    while (end < letters.length && letters[end] === letters[start]) end++;
    packed += letters[start];
    if (end - start > 1) packed += end - start;
  }
  return packed;
}

function letterOf(codePoint: number): string {
  // A surrogate is no character, and `\p{…}` puts it in no class we use.
  const char = String.fromCodePoint(codePoint);
  return CLASSES.findLast(([, pattern]) => pattern.test(char))?.[0] ?? "o";
}

/** The text of `src/tokenizer/unicode-16.ts`. */
export function classesModule(unicodeVersion: string): string {
  const packed = packClasses(classLetters(unicodeVersion));
  return `/** Made by \`scripts/unicode-classes.ts\`; run that instead of editing this. */

/** Class letter and length of each run of code points, see \`unicode-classes.ts\`. */
export const UNICODE_16_RUNS = \`
${(packed.match(/.{1,95}(?!\d)/gu) ?? []).join("\n")}
\`;
`;
}

if (import.meta.main) {
  const target = new URL("../src/tokenizer/unicode-16.ts", import.meta.url);
  writeFileSync(target, classesModule(process.versions["unicode"] ?? "unknown"));
}
