import { describe, expect, test } from "vitest";
import { shrinkJson, shrinkList } from "../../proof/fuzz/shrink.ts";

describe("shrinking", () => {
  test("keeps the elements that a failure needs, in order", async () => {
    const list = Array.from({ length: 100 }, (_, n) => n);
    const fails = (shorter: readonly number[]) => shorter.includes(17) && shorter.includes(83);
    expect(await shrinkList(list, fails)).toEqual([17, 83]);
  });

  test("keeps the members and characters that a failure needs", async () => {
    const value = { a: [1, { b: "some words", c: null }], d: { e: true }, f: "x" };
    const fails = async (smaller: unknown) => JSON.stringify(smaller).includes("word");
    expect(await shrinkJson(value, fails)).toEqual({ a: [{ b: "word" }] });
  });

  test("keeps everything if everything is needed", async () => {
    expect(await shrinkList([1, 2, 3], (shorter) => shorter.length >= 3)).toEqual([1, 2, 3]);
  });
});
