import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createBacktracker } from "../../src/tokenizer/bpe-backtracking.ts";
import { createPieceMerger } from "../../src/tokenizer/bpe.ts";
import { createRanks, type Ranks } from "../../src/tokenizer/ranks.ts";
import { TextBytes } from "../../src/tokenizer/text-bytes.ts";
import { bytesOf, ORDINARY_COUNT, unpackTokenBytes } from "../../src/tokenizer/token-bytes.ts";
import type { TokenId } from "../../src/tokenizer/index.ts";
import { anyCharacter } from "../helpers/any-character.ts";
import { createRandom } from "../helpers/random-numbers.ts";
import { referenceMerge } from "./reference.ts";
import { toBytes } from "../helpers/text-bytes.ts";

const tokens = unpackTokenBytes();
const ranks = createRanks(tokens);
ranks.addOthers();
const merger = createPieceMerger(tokens, ranks.rankOf);

/** Fresh for each text, or with what earlier texts have left. */
function createSearch(rankOf: Ranks["rankOf"] = ranks.rankOf) {
  const { search, addOthers } = createBacktracker(tokens, rankOf);
  addOthers();
  return search;
}

const sharedSearch = createSearch();

/** The ids, or `undefined` if the search gives up. */
function searchIn({ view, length }: TextBytes, search = sharedSearch): TokenId[] | undefined {
  const ids = [-7];
  if (search(ids, view, 0, length)) return ids.slice(1);
  expect(ids).toEqual([-7]);
  return undefined;
}

function mergeAll({ view, length }: TextBytes): TokenId[] {
  const ids: TokenId[] = [];
  merger.appendTo(ids, view, 0, length, false);
  return ids;
}

const allTexts = Array.from({ length: ORDINARY_COUNT }, (_, id) =>
  Buffer.from(bytesOf(tokens, id)).toString("utf8"),
);
const tokensOf = (pattern: RegExp) => allTexts.filter((text) => pattern.test(text));

const ALPHABETS: readonly (readonly [string, readonly string[]])[] = [
  ["Thai", tokensOf(/^[\u0e01-\u0e5b]+$/)],
  ["Hindi", tokensOf(/^[\u0900-\u097f]+$/)],
  ["Georgian", tokensOf(/^[\u10a0-\u10ff]+$/)],
  ["Cyrillic", tokensOf(/^[\u0400-\u04ff]+$/)],
  ["Arabic", tokensOf(/^[\u0600-\u06ff]+$/)],
  ["Han", tokensOf(/^[\u4e00-\u9fff]+$/)],
  ["Kana", tokensOf(/^[\u3040-\u30ff]+$/)],
  ["Hangul", tokensOf(/^[\uac00-\ud7a3]+$/)],
  ["emoji", tokensOf(/^\p{Extended_Pictographic}+$/u)],
  ["small letters", tokensOf(/^[a-z]+$/)],
  ["signs", tokensOf(/^[^\p{L}\p{N}\s\uFFFD]+$/u)],
  ["long runs of signs", tokensOf(/^[^\p{L}\p{N}\s\uFFFD]{16,}$/u)],
  ["white space", tokensOf(/^\s+$/)],
  ["parts of characters", allTexts.filter((text) => text.includes("\uFFFD"))],
  ["anything", allTexts],
];

describe("finds what merging gives", () => {
  test.each(ALPHABETS)("for tokens in any order, whole and cut: %s", (_, texts) => {
    expect(texts.length).toBeGreaterThan(9);
    const token = fc.nat({ max: texts.length - 1 }).map((at) => texts[at]!);
    const cut = fc
      .tuple(token, fc.nat({ max: 128 }))
      .map(([text, at]) => text.slice(at % text.length));
    const few = fc
      .array(token, { minLength: 1, maxLength: 3 })
      .chain((some) => fc.array(fc.constantFrom(...some), { minLength: 1, maxLength: 80 }));
    const parts = fc.oneof(
      fc.array(token, { minLength: 1, maxLength: 80, size: "max" }),
      fc.array(cut, { minLength: 1, maxLength: 80, size: "max" }),
      few,
    );
    fc.assert(
      fc.property(parts, (list) => {
        const bytes = toBytes(list.join(""));
        expect(searchIn(bytes) ?? mergeAll(bytes)).toEqual(mergeAll(bytes));
      }),
      { numRuns: 80 },
    );
  });

  test("for any bytes, by the definition of the merge", () => {
    const byte = fc.oneof(fc.nat({ max: 255 }), fc.constantFrom(0x20, 0x61, 0xe0, 0xb8, 0x81));
    fc.assert(
      fc.property(fc.array(byte, { minLength: 1, maxLength: 60 }), (list) => {
        const bytes = new TextBytes(list.length);
        bytes.bytes.set(list);
        bytes.length = list.length;
        expect(searchIn(bytes)).toEqual(referenceMerge(Uint8Array.from(list)).ids);
      }),
      { numRuns: 1000 },
    );
  });

  test("for any characters, by the definition of the merge", () => {
    const any = fc.array(fc.string({ unit: anyCharacter, minLength: 1, maxLength: 4 }), {
      minLength: 1,
      maxLength: 12,
    });
    fc.assert(
      fc.property(any, (parts) => {
        const bytes = toBytes(parts.join(""));
        const expected = referenceMerge(bytes.bytes.slice(0, bytes.length)).ids;
        expect(searchIn(bytes) ?? expected).toEqual(expected);
      }),
      { numRuns: 300 },
    );
  });

  test.each(["a", "=", "-", " ", "\n", "ab", "=-", "ก", "กา", "学", "😀", "のた", "\r\n", " \t"])(
    "for %j repeated, of any length",
    (unit) => {
      for (let times = 1; times < 420; times += times < 140 ? 1 : 13) {
        const bytes = toBytes(unit.repeat(times));
        expect(searchIn(bytes) ?? []).toEqual(searchIn(bytes) === undefined ? [] : mergeAll(bytes));
      }
    },
  );
});

test("common text is searched before there are other tokens, and other text after", () => {
  const ownTokens = unpackTokenBytes();
  const ownRanks = createRanks(ownTokens);
  const { search, addOthers } = createBacktracker(ownTokens, ownRanks.rankOf);
  const common = toBytes("someWordsThatAreLongEnough".repeat(9));
  expect(searchIn(common, search)).toEqual(mergeAll(common));
  ownRanks.addOthers();
  addOthers();
  const other = toBytes("คำที่ยาวพอwordsสำหรับ".repeat(9));
  expect(searchIn(other, search)).toEqual(mergeAll(other));
  expect(searchIn(common, search)).toEqual(mergeAll(common));
});

describe("the work", () => {
  const LENGTH = 30_000;
  const random = createRandom();
  const many = (make: () => string) => {
    let text = "";
    while (text.length < LENGTH) text += make();
    return text.slice(0, LENGTH);
  };
  const spaces = tokensOf(/^\s+$/);

  test.each([
    ["one letter", many(() => "a"), true],
    ["equals signs", many(() => "="), true],
    ["spaces", many(() => " "), true],
    ["letters", many(() => String.fromCharCode(0x61 + random(26))), true],
    ["Han", many(() => String.fromCharCode(0x4e00 + random(20_000))), true],
    ["Thai", many(() => String.fromCharCode(0xe01 + random(46))), true],
    ["runs of white space", many(() => spaces[random(spaces.length)]!), false],
  ])("is linear, and a text that needs much is left to merging: %s", (_, text, isFound) => {
    let questions = 0;
    const search = createSearch((view, start, end) => {
      questions++;
      return ranks.rankOf(view, start, end);
    });
    const bytes = toBytes(text);
    expect(searchIn(bytes, search) !== undefined).toBe(isFound);
    expect(questions).toBeGreaterThan(0);
    expect(questions).toBeLessThan(12 * bytes.length);
  });
});
