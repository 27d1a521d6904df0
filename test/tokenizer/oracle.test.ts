import * as fc from "fast-check";
import { Tiktoken } from "js-tiktoken/lite";
import o200kBase from "js-tiktoken/ranks/o200k_base";
import { describe, expect, test } from "vitest";
import { o200kHarmony } from "../../src/tokenizer/index.ts";
import { oracleTexts } from "./texts.ts";

const tokenizer = o200kHarmony();
const oracle = new Tiktoken(o200kBase);

describe("compared with js-tiktoken", () => {
  test("random texts encode to the same ids", () => {
    fc.assert(
      fc.property(oracleTexts, (text) => {
        expect(tokenizer.encode(text)).toEqual(oracle.encode(text, [], []));
      }),
      { numRuns: 3000 },
    );
  });

  test("random texts without spaces encode to the same ids", () => {
    const letters = fc.string({
      unit: fc.constantFrom(...Array.from("abcdefghijklmnopqrstuvwxyzéüжщ漢字仮名अकार्यกขค한국")),
      minLength: 1,
      maxLength: 60,
    });
    fc.assert(
      fc.property(letters, (text) => {
        expect(tokenizer.encode(text)).toEqual(oracle.encode(text, [], []));
      }),
      { numRuns: 1000 },
    );
  });

  test("the ids decode to the same text", () => {
    const ordinaryIds = fc.array(fc.integer({ min: 0, max: 199_997 }), { maxLength: 12 });
    fc.assert(
      fc.property(ordinaryIds, (ids) => {
        // Only js-tiktoken drops a leading byte order mark.
        const text = tokenizer.decode(ids);
        expect(text.replace(/^\uFEFF/u, "")).toBe(oracle.decode(ids));
      }),
      { numRuns: 1000 },
    );
  });
});
