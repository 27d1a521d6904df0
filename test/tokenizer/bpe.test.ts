import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createPretokenMerger } from "../../src/tokenizer/bpe.ts";
import { createRanks, type Ranks } from "../../src/tokenizer/ranks.ts";
import { unpackTokenBytes } from "../../src/tokenizer/token-bytes.ts";
import { FIRST_SPECIAL_ID, tokenBytes, type TokenId } from "../../src/tokenizer/index.ts";
import { toBytes } from "../helpers/text-bytes.ts";
import { referenceMerge } from "./reference.ts";
import { anyCharacter } from "../helpers/any-character.ts";
import { createRandom } from "../helpers/random-numbers.ts";

const ranks = createRanks(unpackTokenBytes());
ranks.addOthers();
const mergePiece = createPretokenMerger(ranks.rankOf);

function merge(text: string, by = mergePiece): TokenId[] {
  const bytes = toBytes(text);
  const ids: TokenId[] = [];
  by(ids, bytes.view, 0, bytes.length);
  return ids;
}

function referenceIds(text: string): TokenId[] {
  return referenceMerge(new TextEncoder().encode(text));
}

/** Characters of the tokens that contain an incomplete character as well. */
const straddled = Array.from({ length: FIRST_SPECIAL_ID }, (_, id) => tokenBytes(id) ?? [])
  .map((bytes) => Buffer.from(bytes).toString("utf8"))
  .filter((text) => text.length > 1 && text.includes("\uFFFD"))
  .flatMap((text) => Array.from(text.replaceAll("\uFFFD", "")));

describe("merging equals a naive implementation", () => {
  const someChars = fc.constantFrom(...straddled, ...Array.from(" aeinrst学生한국のेাარਿ്ះើבו"));
  test.each([
    ["for characters that tokens cut through", someChars, 24],
    ["for any characters", fc.string({ unit: anyCharacter, maxLength: 3 }), 24],
    ["for letters", fc.constantFrom(...Array.from("abcdefghijklmnopqrstuvwxyz")), 60],
    ["for few letters, many times", fc.constantFrom(...Array.from(" aan")), 300],
    ["for many characters", someChars, 300],
  ])("%s", (_, chars, maxLength) => {
    const text = fc.array(chars, { minLength: 1, maxLength, size: "max" });
    fc.assert(
      fc.property(text, (parts) => {
        fc.pre(parts.join("") !== "");
        expect(merge(parts.join(""))).toEqual(referenceIds(parts.join("")));
      }),
      { numRuns: maxLength > 100 ? 60 : 1500 },
    );
  });

  test.each([90, 96, 97, 100, 128, 1023, 1024, 1025, 1100])("for %s bytes", (length) => {
    const text = "Donaudampfschifffahrtsgesellschaft".repeat(40).slice(0, length);
    expect(merge(text)).toEqual(referenceIds(text));
  });

  test("where a token ends inside a character", () => {
    // Token 1049 is 彩 and two thirds of 神.
    expect(merge("彩神")).toEqual(referenceIds("彩神"));
    expect(merge("大彩神争")).toEqual(referenceIds("大彩神争"));
  });
});

describe("the work for a long pretoken", () => {
  const LENGTH = 20_000;
  const random = createRandom();
  const times = (make: () => string) => Array.from({ length: LENGTH }, make).join("");

  test.each([
    ["one letter", "a".repeat(LENGTH)],
    ["spaces", " ".repeat(LENGTH)],
    ["newlines", "\n".repeat(LENGTH)],
    ["equals signs", "=".repeat(LENGTH)],
    ["hexadecimal letters", times(() => "abcdef".charAt(random(6)))],
    ["letters", times(() => String.fromCharCode(0x61 + random(26)))],
    ["punctuation", times(() => "!@#$%^&*()-_=+[]{};:,.<>?".charAt(random(26)))],
    ["Han", times(() => String.fromCharCode(0x4e00 + random(20_000)))],
    ["Thai", times(() => String.fromCharCode(0xe01 + random(46)))],
    ["two letters in turn", "ab".repeat(LENGTH / 2)],
    ["emoji", "😀".repeat(LENGTH)],
  ])("grows as n·log n: %s", (_, text) => {
    let questions = 0;
    const counting: Ranks = {
      find: ranks.find,
      rankOf: (view: DataView, start: number, end: number) => {
        questions++;
        return ranks.rankOf(view, start, end);
      },
    };
    // Not a spy, which keeps the arguments and the result of a million calls.
    const { min } = Math;
    let steps = 0;
    Math.min = (...values) => {
      steps++;
      return min(...values);
    };
    let ids: TokenId[];
    try {
      ids = merge(text, createPretokenMerger(counting.rankOf));
    } finally {
      Math.min = min;
    }

    const bytes = Buffer.byteLength(text);
    expect(ids.length).toBeLessThanOrEqual(bytes);
    // One rank lookup for each unit and two for each merge; there are fewer merges than units.
    expect(questions).toBeGreaterThan(0);
    expect(questions).toBeLessThan(4 * bytes);
    // Comparisons in the tree: to build it, and at most three paths to the root for each merge.
    expect(steps).toBeGreaterThan(text.length / 2);
    expect(steps).toBeLessThan(2 * bytes + 3 * bytes * Math.log2(bytes));
  });
});
