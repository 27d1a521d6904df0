import * as fc from "fast-check";
import { expect, test } from "vitest";
import { o200kHarmony } from "../../../src/tokenizer/index.ts";
import { TextMeter } from "../../../src/turn/reading/text-meter.ts";
import { spelledIds } from "../../helpers/spelled.ts";

function count(reads: readonly string[]): number {
  const meter = new TextMeter(o200kHarmony());
  for (const read of reads) meter.push(read);
  return meter.tokens();
}

test.each([
  "",
  "Hello there, world.",
  "if (a) {\n    return b;\n}\n\n  done   now ",
  "<|channel|>analysis<|message|>Let me think.<|end|><|start|>assistant<|channel|>final<|message|>Hi",
  "no marker: <|, <|x|>, < |end|>",
])("%j is as many tokens in every size of read", (text) => {
  for (const size of [1, 2, 7, 1000]) {
    const reads = text.match(new RegExp(`[^]{1,${size}}`, "g")) ?? [];
    expect(count(reads)).toBe(spelledIds(text).length);
  }
});

test("a marker that the model has spelled in a part is as many tokens as its text", () => {
  const text = "I could say <|start|>assistant to=functions.f<|message|>{}<|call|> now";
  const meter = new TextMeter(o200kHarmony(), { hasMarkers: false });
  for (const read of text) meter.push(read);
  expect(meter.tokens()).toBe(o200kHarmony().encode(text).length);
  expect(meter.tokens()).toBeGreaterThan(count([text]));
});

test("the number of tokens does not depend on the reads", () => {
  const word = fc.constantFrom(
    " ",
    "  ",
    "\n",
    "a",
    "foo",
    " bar",
    ".",
    ";",
    "12345",
    "é",
    "<|end|>",
    "<|e",
    "'s",
  );
  fc.assert(
    fc.property(fc.array(word, { maxLength: 30 }), (reads) => {
      expect(count(reads)).toBe(spelledIds(reads.join("")).length);
    }),
  );
});

test("the end of a part ends a token, and a text without spaces is not held without limit", () => {
  const meter = new TextMeter(o200kHarmony());
  meter.push("th");
  meter.cut();
  meter.push("ink");
  expect(meter.tokens()).toBe(2);
  const long = "漢字".repeat(5000);
  expect(count(Array.from(long))).toBeGreaterThanOrEqual(o200kHarmony().encode(long).length);
});
