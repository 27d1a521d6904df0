import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { hashOf, SLACK } from "../../src/tokenizer/byte-words.ts";
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

  test("give themselves when merged", () => {
    // `pretoken-chunks.ts` relies on it.
    const wrong = allIds.filter((id) => {
      const ids = referenceMerge(bytesOf(tokens, id));
      return ids.length !== 1 || ids[0] !== id;
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
