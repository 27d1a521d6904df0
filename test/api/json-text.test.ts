import { assert, constantFrom, array, oneof, property, string } from "fast-check";
import { describe, expect, test } from "vitest";
import { isAscii, isPlain, toJsonText } from "../../src/api/json-text.ts";

/** Words, and whatever JSON escapes or UTF-8 writes in several bytes. */
const text = oneof(
  string({ unit: "binary", maxLength: 80 }),
  array(constantFrom(" word", "é", "中", "👩", "\ud800", '"', "\\", "\n", "\u007f", "~", " "), {
    maxLength: 20,
  }).map((parts) => parts.join("")),
);

describe("the text of a delta", () => {
  test("is written as JSON.stringify writes it", () => {
    assert(
      property(text, (each) => {
        expect(toJsonText(each, isPlain(each))).toBe(JSON.stringify(each));
      }),
      { numRuns: 2000 },
    );
  });

  test("is plain only if nothing is escaped, and each character is a byte", () => {
    assert(
      property(text, (each) => {
        if (!isPlain(each)) return;
        expect(JSON.stringify(each)).toBe(`"${each}"`);
        expect(Buffer.byteLength(each)).toBe(each.length);
      }),
      { numRuns: 2000 },
    );
  });

  test.each([
    ["", true],
    [" word", true],
    ["a".repeat(64), true],
    ["a".repeat(65), false],
    ["\u007f", false],
    ["é", false],
    ['say "', false],
    ["\\", false],
    ["\n", false],
  ])("%j: plain %s", (given, expected) => {
    expect(isPlain(given)).toBe(expected);
  });

  test("is ASCII if it has as many bytes as characters", () => {
    assert(
      property(text, (each) => {
        expect(isAscii(each)).toBe(Buffer.byteLength(each) === each.length);
      }),
    );
  });
});
