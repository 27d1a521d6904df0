import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { o200kHarmony } from "../../src/tokenizer/index.ts";
import { WINDOW, windowEnd } from "../../src/tokenizer/text-windows.ts";
import { referencePretokens } from "./reference.ts";
import { timelessTexts } from "./texts.ts";

test("a short text is one window", () => {
  expect(windowEnd("a b c", 0)).toBe(5);
  expect(windowEnd("a b c", 2)).toBe(5);
  expect(windowEnd("a".repeat(WINDOW), 0)).toBe(WINDOW);
});

test("a long text is cut after the last word that fits", () => {
  const text = "word ".repeat(WINDOW);
  const end = windowEnd(text, 0);
  expect(end).toBeGreaterThan(WINDOW - 5);
  expect(end).toBeLessThanOrEqual(WINDOW);
  expect(text.slice(end - 4, end + 1)).toBe("word ");
});

test.each([
  ["nothing to cut at", "a".repeat(3 * WINDOW), 3 * WINDOW],
  ["spaces only", " ".repeat(3 * WINDOW), 3 * WINDOW],
  ["a late word", `${"a".repeat(WINDOW + 9)} ${"b".repeat(2 * WINDOW)}`, WINDOW + 9],
  ["a late line", `${"。".repeat(WINDOW + 9)}\n${"日".repeat(2 * WINDOW)}`, WINDOW + 10],
])("with %s the window grows", (_, text, end) => {
  expect(windowEnd(text, 0)).toBe(end);
});

test("a pretoken always ends where a window does", () => {
  // Texts that fill one window and half another, with the random part where the cut will be.
  fc.assert(
    fc.property(timelessTexts, timelessTexts, (before, after) => {
      const text = "x".repeat(WINDOW - before.length) + before + after + "x".repeat(WINDOW);
      // A run of one letter, however long, is part of one pretoken: short runs have the same pretokens.
      const pretokens = referencePretokens(`xx${before}${after}xx`).slice(0, -1);
      const ends = new Set([text.length]);
      let sum = WINDOW - before.length - 2;
      for (const pretoken of pretokens) ends.add((sum += pretoken.length));
      expect(ends).toContain(windowEnd(text, 0));
    }),
    { numRuns: 2000 },
  );
});

describe("the ids of a text do not depend on windows", () => {
  const tokenizer = o200kHarmony();

  test.each([
    ["words", "some words, and more of them ", 8000],
    ["lines of Chinese", "天地玄黄，宇宙洪荒。\n", 8000],
    ["one long word", "abcdefgh", 10_000],
    ["emoji without spaces", "👩🏽‍🚀", 12_000],
    ["blank lines", " \n\t\r\n", 20_000],
    ["lone surrogates", "\uD83D \uDE00", 20_000],
  ])("%s", (_, part, count) => {
    const text = part.repeat(count);
    const ids = tokenizer.encode(text);
    expect(tokenizer.decode(ids)).toBe(text.toWellFormed());
    const pretokens = referencePretokens(text);
    expect(ids).toEqual(pretokens.flatMap((pretoken) => tokenizer.encode(pretoken)));
  });
});
