import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { hashOf, SLACK } from "../../src/tokenizer/byte-words.ts";
import { createCharacterSeams, pairHash, seamIndex } from "../../src/tokenizer/character-seams.ts";
import { createRanks } from "../../src/tokenizer/ranks.ts";
import {
  bytesOf,
  MAX_TOKEN_BYTES,
  ORDINARY_COUNT,
  unpackTokenBytes,
} from "../../src/tokenizer/token-bytes.ts";
import { NO_RANK } from "../../src/tokenizer/token-tables.ts";
import { referenceMerge } from "./reference.ts";

const tokens = unpackTokenBytes();
const ranks = createRanks(tokens);
ranks.addOthers();
const allIds = Array.from({ length: ORDINARY_COUNT }, (_, id) => id);

describe("the tokens' bytes", () => {
  test("equal the file that OpenAI publishes, by its SHA-256", async () => {
    const lines = allIds.map(
      (id) => `${Buffer.from(bytesOf(tokens, id)).toString("base64")} ${id}\n`,
    );
    const digest = await crypto.subtle.digest("SHA-256", Buffer.from(lines.join("")));
    expect(Buffer.from(digest).toString("hex")).toBe(
      "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    );
  });

  test("are at most 128 each", () => {
    const lengths = new Set(allIds.map((id) => bytesOf(tokens, id).length));
    expect(Math.max(...lengths)).toBe(MAX_TOKEN_BYTES);
  });

  test.each([-1, ORDINARY_COUNT, 201_089, 0.5, Number.NaN, Infinity])("of %s are none", (id) => {
    expect(bytesOf(tokens, id)).toHaveLength(0);
  });

  test("give themselves when merged, through tokens of rising rank", () => {
    // So a merge may begin with whole characters. See character-seams.ts.
    const wrong = allIds.filter((id) => {
      const merged = referenceMerge(bytesOf(tokens, id));
      const isRising = merged.ranks.every((rank, i) => rank >= (merged.ranks[i - 1] ?? 0));
      return merged.ids.length !== 1 || merged.ids[0] !== id || !isRising;
    });
    expect(wrong).toEqual([]);
  });
});

describe("ranks", () => {
  function findText(bytes: Uint8Array) {
    const view = new DataView(new ArrayBuffer(bytes.length + SLACK));
    new Uint8Array(view.buffer).set(bytes);
    return {
      id: ranks.find(view, 0, bytes.length, hashOf(view, 0, bytes.length)),
      rank: bytes.length < 2 ? "of one byte" : ranks.rankOf(view, 0, bytes.length),
    };
  }

  test("every token is found", () => {
    const wrong = allIds.filter((id) => {
      const { id: found, rank } = findText(bytesOf(tokens, id));
      return found !== id || (rank !== id && rank !== "of one byte");
    });
    expect(wrong).toEqual([]);
  });

  test("tokens are found before, while and after a table is filled, then the others, too", () => {
    const own = createRanks(unpackTokenBytes());
    const find = (bytes: Uint8Array) => {
      const view = new DataView(new ArrayBuffer(bytes.length + SLACK));
      new Uint8Array(view.buffer).set(bytes);
      return own.find(view, 0, bytes.length, hashOf(view, 0, bytes.length));
    };
    const findWrong = (ids: Iterable<number>) =>
      Array.from(ids).filter((id) => find(bytesOf(tokens, id)) !== id);
    for (let round = 0; round < 3; round++) expect(findWrong(tokens.commonIds)).toEqual([]);
    const others = Array.from(tokens.otherIds());
    expect(others.filter((id) => find(bytesOf(tokens, id)) !== -1)).toEqual([]);
    own.addOthers();
    expect(findWrong(others.toReversed())).toEqual([]);
    expect(findWrong(allIds)).toEqual([]);
  });

  test("a zero after a token is not mistaken for its end", () => {
    const withZeros = allIds
      .map((id) => Uint8Array.of(...bytesOf(tokens, id), 0))
      .filter((bytes) => bytes.some((byte) => byte !== 0));
    expect(withZeros.filter((bytes) => findText(bytes).id >= 0)).toEqual([]);
  });

  test("other bytes are not found", () => {
    const known = new Set(allIds.map((id) => bytesOf(tokens, id).join()));
    const nearTokens = fc
      .record({
        id: fc.integer({ min: 0, max: ORDINARY_COUNT - 1 }),
        at: fc.nat({ max: 200 }),
        byte: fc.nat({ max: 255 }),
      })
      .map(({ id, at, byte }) => {
        const bytes = Uint8Array.from(bytesOf(tokens, id));
        // Beyond the end: one byte more.
        return at < bytes.length ? bytes.with(at, byte) : Uint8Array.of(...bytes, byte);
      })
      .filter((bytes) => !known.has(bytes.join()));
    fc.assert(
      fc.property(
        fc.oneof(nearTokens, fc.uint8Array({ minLength: 2, maxLength: 300 })),
        (bytes) => {
          fc.pre(!known.has(bytes.join()));
          expect(findText(bytes)).toEqual({
            id: -1,
            rank: bytes.length < 2 ? "of one byte" : NO_RANK,
          });
        },
      ),
      { numRuns: 2000 },
    );
  });
});

describe("seams", () => {
  const { groups, beginInside, endInside, pairs, characters } = createCharacterSeams(tokens);
  const isContinuation = (byte = 0) => byte >= 0x80 && byte < 0xc0;
  const widthOf = (lead = 0) => [0x80, 0xe0, 0xf0].filter((bound) => lead >= bound).length + 1;

  /** The offsets in a token where characters begin, and the bytes that the last one lacks. */
  function shapeOf(token: Uint8Array): { starts: number[]; missing: number } {
    const starts = Array.from(token.keys()).filter((at) => !isContinuation(token[at]));
    const last = starts.at(-1) ?? 0;
    return { starts, missing: starts.length > 0 ? last + widthOf(token[last]) - token.length : 0 };
  }

  test("have the lowest ranks of tokens that begin or end inside a character", () => {
    const expected = new Map<string, number>();
    const note = (kind: string, token: Uint8Array, seam: number, id: number) => {
      const [before = 0, after = 0, second] = token.subarray(seam - 1, seam + 2);
      const isOpen = after < 0x80 || second === undefined;
      for (const each of isOpen ? Array.from({ length: 64 }, (_, i) => 0x80 + i) : [second]) {
        const key = [kind, before, after, each].join();
        expected.set(key, Math.min(expected.get(key) ?? NO_RANK, id));
      }
    };
    for (const id of allIds) {
      const token = bytesOf(tokens, id);
      const { starts, missing } = shapeOf(token);
      if (starts.length > 0 && starts[0] !== 0) note("begin", token, starts[0]!, id);
      if (missing > 0 && starts.at(-1) !== 0) note("end", token, starts.at(-1)!, id);
    }
    let found = 0;
    for (const [key, group] of groups.entries()) {
      if (group === 0) continue;
      for (let second = 0x80; second < 0xc0; second++) {
        const at = [key >> 8, key & 0xff, second].join();
        const begins = beginInside[seamIndex(group, second)]!;
        const ends = endInside[seamIndex(group, second)]!;
        expect([at, begins]).toEqual([at, expected.get(`begin,${at}`) ?? NO_RANK]);
        expect([at, ends]).toEqual([at, expected.get(`end,${at}`) ?? NO_RANK]);
        found += Number(begins !== NO_RANK) + Number(ends !== NO_RANK);
      }
    }
    expect(found).toBe(expected.size);
    expect(new Set(groups).size).toBe(167);
  });

  test("have all characters of other letters that are tokens, and all pairs of adjacent ones", () => {
    const isOther = (character: string) =>
      /[^\0-\u00ff\u2000-\u2fff\u{f000}-\u{10ffff}]/u.test(character);
    const expected = new Int32Array(0x10000);
    const missed: string[] = [];
    for (const id of allIds) {
      const token = bytesOf(tokens, id);
      const { starts, missing } = shapeOf(token);
      const whole = token.subarray(
        starts[0] ?? token.length,
        missing > 0 ? starts.at(-1) : undefined,
      );
      const text = Array.from(Buffer.from(whole).toString("utf8"));
      if (text.length === 1 && whole.length === token.length && isOther(text[0]!)) {
        expected[text[0]!.codePointAt(0)!] = id + 1;
      }
      for (let at = 0; at + 1 < text.length; at++) {
        const pair = [text[at]!, text[at + 1]!] as const;
        const hash = pairHash(pair[0].codePointAt(0)!, pair[1].codePointAt(0)!);
        const isIn = (pairs[hash >>> 5]! & (1 << hash)) !== 0;
        if (pair.some(isOther) && !isIn) missed.push(pair.join(""));
      }
    }
    expect(missed).toEqual([]);
    expect(characters.filter((each, at) => each !== expected[at])).toHaveLength(0);
    expect(expected.filter((each) => each > 0).length).toBeGreaterThan(4000);
    // Few others, or the filter would not help.
    const bits = pairs.reduce(
      (sum, word) => sum + word.toString(2).replaceAll(/[^1]/g, "").length,
      0,
    );
    expect(bits / (32 * pairs.length)).toBeLessThan(0.06);
  });
});
