import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createPretokenMerger } from "../../src/tokenizer/bpe.ts";
import { createChunkMerger } from "../../src/tokenizer/pretoken-chunks.ts";
import { createRanks } from "../../src/tokenizer/ranks.ts";
import { unpackTokenBytes } from "../../src/tokenizer/token-bytes.ts";
import type { TokenId } from "../../src/tokenizer/index.ts";
import { createRandom } from "../helpers/random-numbers.ts";
import { toBytes } from "../helpers/text-bytes.ts";

const tokens = unpackTokenBytes();
const ranks = createRanks(tokens);
ranks.addOthers();
const mergePiece = createPretokenMerger(ranks.rankOf);

interface Merged {
  readonly ids: TokenId[];
  readonly steps: number;
  /** Bytes merged, those of chunks merged again included. */
  readonly work: number;
}

function mergeInChunks(text: string): Merged {
  const { view, length } = toBytes(text);
  let work = 0;
  const merge = createChunkMerger(tokens, (out, bytes, start, end) => {
    work += end - start;
    mergePiece(out, bytes, start, end);
  });
  const ids: TokenId[] = [];
  let steps = 0;
  for (const _ of merge(ids, view, 0, length)) steps++;
  return { ids, steps, work };
}

function mergeWhole(text: string): TokenId[] {
  const { view, length } = toBytes(text);
  const ids: TokenId[] = [];
  mergePiece(ids, view, 0, length);
  return ids;
}

const random = createRandom(7);

const UNITS = 60_000;
const many = (make: () => string) => Array.from({ length: UNITS }, make).join("");

const LONG_PIECES: readonly (readonly [string, string])[] = [
  ["one letter", "a".repeat(UNITS)],
  ["one letter, an odd number of times", "x".repeat(UNITS + 7)],
  ["spaces", " ".repeat(UNITS + 1)],
  ["newlines", "\n".repeat(UNITS + 1)],
  ["line ends of two characters", "\r\n".repeat(UNITS / 2)],
  ["equals signs", "=".repeat(UNITS)],
  ["slashes", "/".repeat(UNITS)],
  ["two letters in turn", "ab".repeat(UNITS / 2)],
  ["three letters in turn", "abc".repeat(UNITS / 3)],
  ["a long word again and again", "Donaudampfschifffahrtsgesellschaft".repeat(UNITS / 34)],
  ["letters", many(() => String.fromCharCode(0x61 + random(26)))],
  ["few letters", many(() => "aan".charAt(random(3)))],
  ["punctuation", many(() => "!@#$%^&*()-_=+[]{};:,.<>?".charAt(random(26)))],
  ["Han", many(() => String.fromCharCode(0x4e00 + random(20_000)))],
  ["Han that tokens cut through", many(() => "彩神大争学生".charAt(random(6)))],
  ["Thai", many(() => String.fromCharCode(0xe01 + random(46)))],
  ["emoji", many(() => String.fromCodePoint(0x1f600 + random(60)))],
  ["one emoji", "😀".repeat(UNITS / 4)],
];

describe("a pretoken in chunks is encoded like the whole pretoken", () => {
  test.each(LONG_PIECES)("%s", (_, text) => {
    expect(mergeInChunks(text).ids).toEqual(mergeWhole(text));
  });

  test("any text of pretokens that repeat", () => {
    const unit = fc.string({
      unit: fc.constantFrom(...Array.from("abenrst =-\n彩神学한ิ😀")),
      minLength: 1,
      maxLength: 12,
    });
    const text = fc
      .array(fc.tuple(unit, fc.integer({ min: 1, max: 3_000 })), { minLength: 1, maxLength: 6 })
      .map((parts) => parts.map(([part, times]) => part.repeat(times)).join(""));
    fc.assert(
      fc.property(text, (each) => {
        expect(mergeInChunks(each).ids).toEqual(mergeWhole(each));
      }),
      { numRuns: 100 },
    );
  });
});

test.each(LONG_PIECES)("the work is linear, and in small steps: %s", (_, text) => {
  const { steps, work } = mergeInChunks(text);
  const bytes = Buffer.byteLength(text);
  expect(steps).toBeGreaterThanOrEqual(bytes / 8192);
  expect(steps).toBeLessThanOrEqual(bytes / 4096 + 1);
  expect(work).toBeLessThan(1.5 * bytes + 8192);
});
