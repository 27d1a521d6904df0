import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { ADDED_IN_17, classesModule, LOWER_UNTIL_16 } from "../../scripts/unicode-classes.ts";
import {
  CharClass,
  classBeyond,
  TABLE_SIZE,
  unicodeClasses,
} from "../../src/tokenizer/unicode-classes.ts";

const UNICODE_VERSION = process.versions["unicode"] ?? "unknown";

test("the committed table is what the script makes", () => {
  const file = new URL("../../src/tokenizer/unicode-16.ts", import.meta.url);
  expect(readFileSync(file, "utf8")).toBe(classesModule(UNICODE_VERSION));
});

test("an engine of another Unicode version makes no table", () => {
  expect(() => classesModule("18.0")).toThrow("16.0 and 18.0");
});

test("the classes are the engine's, but for what Unicode 17 changed", () => {
  const patterns: [number, RegExp][] = [
    [CharClass.newline, /[\r\n]/u],
    [CharClass.space, /\p{White_Space}/u],
    [CharClass.number, /\p{N}/u],
    [CharClass.mark, /\p{M}/u],
    [CharClass.uncased, /[\p{Lm}\p{Lo}]/u],
    [CharClass.lower, /\p{Ll}/u],
    [CharClass.upper, /[\p{Lu}\p{Lt}]/u],
    [CharClass.other, /[^]/u],
  ];
  const classOf = classesOfAll();
  const different: number[] = [];
  for (let codePoint = 0; codePoint < 0x110000; codePoint++) {
    const char = String.fromCodePoint(codePoint);
    const [engineClass] = patterns.find(([, pattern]) => pattern.test(char)) ?? [];
    if (classOf(codePoint) !== engineClass) different.push(codePoint);
  }
  const changed = ADDED_IN_17.flatMap(([first, last]) =>
    Array.from({ length: last - first + 1 }, (_, index) => first + index),
  );
  const expected = [LOWER_UNTIL_16, ...changed].toSorted((a, b) => a - b);
  expect(different).toEqual(UNICODE_VERSION === "16.0" ? [] : expected);
});

test.each([
  [0x09, "space"],
  [0x0a, "newline"],
  [0x0d, "newline"],
  [0x85, "space"],
  [0x200b, "other"],
  [0x3000, "space"],
  [0xfeff, "other"],
  [0x0295, "lower"],
  [0x01c5, "upper"],
  [0x0301, "mark"],
  [0x2167, "number"],
  [0xd800, "other"],
  [0x20000, "uncased"],
  [0x31350, "uncased"],
  [0x40100, "other"],
  [0xe00ff, "other"],
  [0xe0100, "mark"],
  [0xe01ef, "mark"],
  [0xe01f0, "other"],
  [0xf0100, "other"],
  [0x10ffff, "other"],
] as const)("U+%s is of the class %s", (codePoint, name) => {
  expect(classesOfAll()(codePoint)).toBe(CharClass[name]);
});

/** The class of any code point, from the table or beyond it. */
function classesOfAll(): (codePoint: number) => number | undefined {
  const classes = unicodeClasses();
  return (codePoint) => (codePoint < TABLE_SIZE ? classes[codePoint] : classBeyond(codePoint));
}
