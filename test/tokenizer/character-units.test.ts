import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createPieceMerger } from "../../src/tokenizer/bpe.ts";
import type { TokenId } from "../../src/tokenizer/index.ts";
import { createRanks, type Ranks } from "../../src/tokenizer/ranks.ts";
import { bytesOf, ORDINARY_COUNT, unpackTokenBytes } from "../../src/tokenizer/token-bytes.ts";
import { anyCharacter } from "../helpers/any-character.ts";
import { createRandom } from "../helpers/random-numbers.ts";
import { toBytes } from "../helpers/text-bytes.ts";
import { referenceMerge } from "./reference.ts";

const tokens = unpackTokenBytes();
const ranks = createRanks(tokens);
ranks.addOthers();

/** Starts from bytes, since it has not been told that there are other letters. */
const byBytes = createPieceMerger(tokens, ranks.rankOf);
const byCharacters = createMerger(ranks);

function createMerger(of: Ranks) {
  const merger = createPieceMerger(tokens, of.rankOf);
  merger.addOthers();
  const long = toBytes("中".repeat(200));
  merger.prepare(long.view, 0, long.length);
  return merger;
}

function merge(view: DataView, start: number, end: number, by = byCharacters, maySearch = false) {
  const ids: TokenId[] = [];
  by.appendTo(ids, view, start, end, maySearch);
  return ids;
}

const bytesOfAll = Array.from({ length: ORDINARY_COUNT }, (_, id) => bytesOf(tokens, id));
const texts = bytesOfAll.map((bytes) => Buffer.from(bytes).toString("utf8"));
/** With the characters that they have a part of completed by one that many tokens have. */
const cutTexts = texts
  .filter((text) => text.includes("\uFFFD") && text.length > 1)
  .flatMap((text) => Array.from("งรก्ि។ა中가", (letter) => text.replaceAll("\uFFFD", letter)));
const tokensOf = (pattern: RegExp) => texts.filter((text) => pattern.test(text));

const ALPHABETS: readonly (readonly [string, readonly string[]])[] = [
  ["Thai", tokensOf(/^[\u0e01-\u0e5b]+$/)],
  ["Hindi", tokensOf(/^[\u0900-\u097f]+$/)],
  ["Tamil", tokensOf(/^[\u0b80-\u0bff]+$/)],
  ["all scripts of India", tokensOf(/^[\u0900-\u0dff]+$/)],
  ["Georgian", tokensOf(/^[\u10a0-\u10ff]+$/)],
  ["Burmese and Khmer", tokensOf(/^[\u1000-\u109f\u1780-\u17ff]+$/)],
  ["Armenian and Hebrew", tokensOf(/^[\u0530-\u05ff]+$/)],
  ["Cyrillic and Greek", tokensOf(/^[\u0370-\u04ff]+$/)],
  ["Arabic", tokensOf(/^[\u0600-\u06ff]+$/)],
  ["Han", tokensOf(/^[\u4e00-\u9fff]+$/)],
  ["Hangul", tokensOf(/^[\uac00-\ud7a3]+$/)],
  ["Kana", tokensOf(/^[\u3040-\u30ff]+$/)],
  ["spaces and letters", tokensOf(/^ ?[^\0-\u00ff\uFFFD]+$/)],
  ["characters that tokens cut through", cutTexts],
  ["signs and emoji", tokensOf(/^[^\p{L}\p{N}\s\uFFFD]+$/u)],
  ["anything", texts.filter((text) => !text.includes("\uFFFD"))],
];

describe("merging whole characters and independent runs gives what merging bytes does", () => {
  test.each(ALPHABETS)("for tokens in any order, cut anywhere: %s", (_, all) => {
    expect(all.length).toBeGreaterThan(9);
    const token = fc.nat({ max: all.length - 1 }).map((at) => all[at]!);
    const part = fc.tuple(token, fc.nat({ max: 128 })).map(([text, at]) =>
      Array.from(text)
        .slice(at % text.length)
        .join(""),
    );
    const list = fc.array(fc.oneof(token, part, anyCharacter), {
      minLength: 1,
      maxLength: 60,
      size: "max",
    });
    fc.assert(
      fc.property(list, fc.nat(), fc.nat(), (parts, from, to) => {
        const { view, length } = toBytes(`${parts.join("")}中`);
        const start = from % length;
        const end = start + 1 + (to % (length - start));
        for (const [first, last] of [
          [0, length],
          [start, length],
          [0, end],
          [start, end],
        ] as const) {
          const expected = merge(view, first, last, byBytes);
          expect(merge(view, first, last)).toEqual(expected);
          expect(merge(view, first, last, byCharacters, true)).toEqual(expected);
        }
      }),
      { numRuns: 150 },
    );
  });

  test("for any characters, by the definition of the merge", () => {
    const any = fc.array(fc.oneof(anyCharacter, fc.constantFrom(...cutTexts)), {
      minLength: 1,
      maxLength: 12,
    });
    fc.assert(
      fc.property(any, (parts) => {
        const { view, bytes, length } = toBytes(parts.join(""));
        expect(merge(view, 0, length)).toEqual(referenceMerge(bytes.slice(0, length)).ids);
      }),
      { numRuns: 500 },
    );
  });

  test("for each character alone, whole and cut", () => {
    const wrong: number[] = [];
    for (let code = 0x80; code < 0x30000; code += code < 0xffff ? 1 : 37) {
      if (code >= 0xd800 && code < 0xe000) continue;
      const { view, length } = toBytes(String.fromCodePoint(code));
      for (const [first, last] of [
        [0, length],
        [0, length - 1],
        [1, length],
      ] as const) {
        const expected = merge(view, first, last, byBytes);
        if (merge(view, first, last).join() !== expected.join()) wrong.push(code);
      }
    }
    expect(wrong).toEqual([]);
  });

  test("for a character that tokens reach into", () => {
    // Token 671 is ა and two thirds of the next Georgian letter.
    for (const text of ["აა", "ააა", "კავკასია", "彩神", "大彩神争"]) {
      const { view, bytes, length } = toBytes(text);
      expect(merge(view, 0, length)).toEqual(referenceMerge(bytes.slice(0, length)).ids);
    }
  });

  test("for runs of many units, searched or not", () => {
    for (const text of [
      "ა".repeat(700),
      "กา".repeat(300),
      `${"ა".repeat(300)}中${"กa".repeat(90)}`,
    ]) {
      const { view, length } = toBytes(text);
      const expected = merge(view, 0, length, byBytes);
      expect(merge(view, 0, length)).toEqual(expected);
      expect(merge(view, 0, length, byCharacters, true)).toEqual(expected);
    }
  });
});

test("the tables are built once enough bytes with other letters have been merged", () => {
  const counting = count(ranks);
  const merger = createPieceMerger(tokens, counting.rankOf);
  merger.addOthers();
  const { view, length } = toBytes("一丁丂七丄丅丆万");
  const questions = () => {
    const before = counting.questions;
    merge(view, 0, length, merger);
    return counting.questions - before;
  };
  const atFirst = questions();
  for (let merged = 0; merged < 16_384; merged += length) questions();
  expect(questions()).toBeLessThan(atFirst / 1.5);
});

describe("the work", () => {
  const LENGTH = 20_000;
  const random = createRandom();
  const many = (make: () => string) => {
    let text = "";
    while (text.length < LENGTH) text += make();
    return text.slice(0, LENGTH);
  };
  const any = (first: number, last: number) =>
    many(() => String.fromCharCode(first + random(last - first + 1)));
  const anyOf = (pattern: RegExp) => {
    const all = tokensOf(pattern);
    return many(() => all[random(all.length)]!);
  };

  test.each([
    ["random Han", any(0x4e00, 0x9fff), 1],
    ["random Hangul", any(0xac00, 0xd7a3), 1],
    ["random Yi", any(0xa000, 0xa48c), 1],
    ["Burmese tokens", anyOf(/^[\u1000-\u109f]+$/), 1],
    ["Hindi tokens", anyOf(/^[\u0900-\u097f]+$/), 1.5],
    ["Thai tokens", anyOf(/^[\u0e01-\u0e5b]+$/), 1.5],
    ["Georgian tokens", anyOf(/^[\u10a0-\u10ff]+$/), 3],
    ["one letter", "ა".repeat(LENGTH), 3],
  ])("is linear: %s", (_, text, perByte) => {
    const counting = count(ranks);
    const merger = createMerger(counting);
    const { view, length } = toBytes(text);
    for (const end of [length / 4, length / 2, length].map(Math.floor)) {
      counting.questions = 0;
      expect(merge(view, 0, end, merger, true)).not.toHaveLength(0);
      expect(counting.questions).toBeGreaterThan(0);
      expect(counting.questions).toBeLessThan(perByte * end);
    }
  });
});

function count(of: Ranks): Ranks & { questions: number } {
  const counting = {
    questions: 0,
    find: of.find,
    rankOf: (view: DataView, start: number, end: number) => {
      counting.questions++;
      return of.rankOf(view, start, end);
    },
  };
  return counting;
}
