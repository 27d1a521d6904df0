import { describe, expect, test } from "vitest";
import { o200kHarmony } from "../../src/tokenizer/index.ts";

const tokenizer = o200kHarmony();

const TEXTS: readonly (readonly [string, string])[] = [
  ["words", "The quick brown fox jumps over the lazy dog. ".repeat(4_000)],
  ["letters without a space", "abcdefghijklmnopqrstuvwxyz".repeat(7_000)],
  ["line ends", "\n".repeat(150_000)],
  ["Chinese without a space", "天地玄黄，宇宙洪荒。日月盈昃，辰宿列张。".repeat(5_000)],
  [
    "words around a very long one",
    `${"a word ".repeat(3_000)}${"y".repeat(50_000)}${" and on".repeat(3_000)}`,
  ],
];

function idsOf(text: string): { ids: number[]; counts: number[] } {
  const counts: number[] = [];
  const steps = tokenizer.encodeInSteps(text);
  let step = steps.next();
  while (!step.done) {
    counts.push(step.value);
    step = steps.next();
  }
  return { ids: step.value, counts };
}

describe("encoding in steps", () => {
  test.each(TEXTS)("gives the ids of encoding at once: %s", (_, text) => {
    expect(idsOf(text).ids).toEqual(tokenizer.encode(text));
  });

  test.each(TEXTS)("no step is longer than 16 KB: %s", (_, text) => {
    const { counts } = idsOf(text);
    expect(counts.length).toBeGreaterThanOrEqual(Buffer.byteLength(text) / 16_384 - 1);
  });

  test("reports the number of ids so far", () => {
    const { ids, counts } = idsOf(TEXTS[0]![1]);
    expect(counts).toEqual(counts.toSorted((a, b) => a - b));
    expect(counts.at(-1)).toBeLessThanOrEqual(ids.length);
    expect(counts.at(-1)).toBeGreaterThan(0.9 * ids.length);
  });

  test("a short text is done in the first step", () => {
    expect(tokenizer.encodeInSteps("Hello!").next()).toEqual({ done: true, value: [13_225, 0] });
  });

  test("interleaved encodings are independent, including abandoned ones", () => {
    const encodings = TEXTS.map(([, text]) => ({
      expected: tokenizer.encode(text),
      steps: tokenizer.encodeInSteps(text),
      ids: undefined as number[] | undefined,
    }));
    tokenizer.encodeInSteps(TEXTS[0]![1]).next();
    while (encodings.some(({ ids }) => ids === undefined)) {
      for (const each of encodings) {
        if (each.ids !== undefined) continue;
        const step = each.steps.next();
        if (step.done) each.ids = step.value;
        tokenizer.encode("in between");
      }
    }
    for (const { ids, expected } of encodings) expect(ids).toEqual(expected);
  });
});
