/** The worst texts that an engine can send, at 10 KB and at the most that is read of them, as counted steps. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type StepCounter, startStepCounter } from "../helpers/count-steps.ts";

interface Place {
  /** In `engine-text-work.ts`. */
  readonly place: string;
  readonly most: number;
  readonly patterns: readonly string[];
}

const PLACES: readonly Place[] = [
  {
    place: "the text of an error",
    most: 1_000_000,
    patterns: ["<a", "<title", "<title>", "< ", " ", "\n", "<a>"],
  },
  {
    place: "the message of an error in JSON",
    most: 1_000_000,
    patterns: ["<a", "<title", " "],
  },
  { place: "an answer to a query", most: 1_000_000, patterns: ["NaN,", "[", ":Infinity"] },
  { place: "the name of a model", most: 1_000_000, patterns: ["gptoss", "gpt-oss "] },
  {
    place: "server-sent events in pieces of 100 bytes",
    most: 1_000_000,
    patterns: ["data: x", ": ping\n", "data: x\n", "data: x\n\n", "\r", "\n\n", "data: \u00e4\n\n"],
  },
  {
    place: "lines of JSON in pieces of 100 bytes",
    most: 1_000_000,
    patterns: ["{", "\n", "{}\n", " \n"],
  },
  { place: "text of an answer", most: 100_000, patterns: ["a", " ", "<|", "<|end|>", "word "] },
  {
    place: "text of an answer in events of one character",
    most: 40_000,
    patterns: [" ", "<", "a "],
  },
  {
    place: "text that the doctor shows",
    most: 1_000_000,
    patterns: ["<|end|>", "<|a|>", "|>", "<|end|> ", "\u001b"],
  },
];

const SMALL = 10_000;

let counter: StepCounter;
beforeAll(async () => {
  counter = await startStepCounter(new URL("engine-text-work.ts", import.meta.url));
});
afterAll(() => counter.stop());

function count(place: string, pattern: string, length: number) {
  return counter.count({ place, text: pattern.repeat(Math.floor(length / pattern.length)) });
}

describe.each(PLACES)("$place", { timeout: 120_000 }, ({ place, most, patterns }) => {
  test.each(patterns)("made of %j takes steps in proportion to its length", async (pattern) => {
    // Once before, so that what is built on first use is not counted.
    await count(place, pattern, 100);
    const small = await count(place, pattern, SMALL);
    const large = await count(place, pattern, most);
    expect(large.steps / small.steps).toBeLessThanOrEqual((1.5 * most) / SMALL);
  });
});

test("no pattern is given more than 4 KB of an error", async () => {
  expect((await count("the text of an error", "<a", 1_000_000)).patterns).toEqual([]);
});
