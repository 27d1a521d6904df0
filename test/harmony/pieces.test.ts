import { describe, expect, test } from "vitest";
import { createPieceEncoder, Piece } from "../../src/harmony/pieces.ts";
import { o200kHarmony } from "../../src/tokenizer/index.ts";
import type { Tokenizer } from "../../src/tokenizer/index.ts";
import { MemoryBudget } from "../../src/harmony/text-memory.ts";
import { countingTokenizer } from "./counting-tokenizer.ts";

function createEncoder(tokenizer: Tokenizer, maxBytes: number): (text: string) => Piece {
  const encoder = createPieceEncoder(tokenizer, new MemoryBudget(maxBytes));
  return (text) => encoder.encode(text, "");
}

describe("caching encoded text", () => {
  test("a piece has the ids of its text, as numbers and as JSON", () => {
    const piece = createEncoder(o200kHarmony(), 0)("hello world");
    expect(piece).toEqual(new Piece("hello world", [24912, 2375], false));
    expect(Array.from(piece.ids)).toEqual([24912, 2375]);
    expect(Buffer.from(piece.idsJson()).toString()).toBe(",24912,2375");
    expect(piece.idsJson()).toBe(piece.idsJson());
  });

  test("a text is encoded once, however often it is used and whichever string object holds it", () => {
    const tokenizer = countingTokenizer();
    const encode = createEncoder(tokenizer, 1_000_000);
    const first = encode("some text");
    expect(encode(["some", "text"].join(" "))).toBe(first);
    expect(encode("another")).not.toBe(first);
    expect(tokenizer.encoded).toEqual(["some text", "another"]);
  });

  test("without a budget nothing is cached", () => {
    const tokenizer = countingTokenizer();
    const encode = createEncoder(tokenizer, 0);
    expect(encode("x").ids).toEqual(encode("x").ids);
    expect(tokenizer.encoded).toEqual(["x", "x"]);
  });

  test("texts that differ in one character only are distinguished", () => {
    const encode = createEncoder(o200kHarmony(), 10_000_000);
    const base = "lorem ipsum ".repeat(50);
    const variants = Array.from(base, (_, at) => `${base.slice(0, at)}#${base.slice(at + 1)}`);
    for (const text of [...variants, ...variants.toReversed()])
      expect(encode(text).text).toBe(text);
  });

  test("texts in use stay cached, others are evicted within the budget", () => {
    const tokenizer = countingTokenizer();
    const encode = createEncoder(tokenizer, 4_000);
    encode("old");
    for (let i = 0; i < 100; i++) {
      encode("in use");
      encode(`passing by ${i}`);
    }
    tokenizer.encoded.length = 0;
    encode("in use");
    encode("passing by 99");
    expect(tokenizer.encoded).toEqual([]);
    encode("old");
    encode("passing by 0");
    expect(tokenizer.encoded).toEqual(["old", "passing by 0"]);
  });

  test("a text larger than half of the budget does not evict the others", () => {
    const tokenizer = countingTokenizer();
    const encode = createEncoder(tokenizer, 4_000);
    encode("small");
    encode("large ".repeat(1000));
    encode("small");
    expect(tokenizer.encoded).toEqual(["small", "large ".repeat(1000)]);
  });
});
