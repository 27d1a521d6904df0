/** How the token count of one read is divided when the read is consumed in parts. */
import { expect, test } from "vitest";
import type { EngineTokens } from "../../../src/engines/engine.ts";
import { END, START } from "../../../src/harmony/tokens.ts";
import { RepetitionGuard } from "../../../src/turn/reading/repetition.ts";
import { behindControlTokens, oneByOne } from "../../../src/turn/reading/token-units.ts";

function countsOf(units: Iterable<EngineTokens>): (number | undefined)[] {
  return Array.from(units, (unit) => {
    if (unit.type === "ids") return unit.ids.length;
    return unit.type === "pieces" ? sum(unit.counts) : unit.tokens;
  });
}

const sum = (counts: readonly (number | undefined)[]) =>
  counts.reduce<number>((total, count) => total + (count ?? 0), 0);

test("each piece has the count that came with it, however many tokens its text would encode to", () => {
  const pieces = [{ text: "They greet me." }, { special: END }, { special: START }, { text: "x" }];
  const units = oneByOne({ type: "pieces", pieces, counts: [5, 1, 1, 3] });
  expect(countsOf(units)).toEqual([5, 1, 1, 3]);
});

test("the count of a text is spread over its characters: each token counts where it begins", () => {
  const units = oneByOne({ type: "text", text: "abcdef", tokens: 3 });
  expect(countsOf(units)).toEqual([1, 0, 1, 0, 1, 0]);
});

test("text without a count stays without one", () => {
  const units = oneByOne({ type: "text", text: "ab" });
  expect(countsOf(units)).toEqual([undefined, undefined]);
});

test("a text that is split at the checks for repetition carries a share of its count in each part", () => {
  const guard = new RepetitionGuard("none");
  const text = "abcd ".repeat(100);
  const counts: (number | undefined)[] = [];
  let joined = "";
  for (const part of guard.split({ type: "text", text, tokens: 101 })) {
    if (part.type === "text") joined += part.text;
    counts.push(...countsOf([part]));
    guard.push(part);
  }
  expect(joined).toBe(text);
  expect(sum(counts)).toBe(101);
  // 128 of the 500 characters lie between two checks.
  expect(counts).toEqual([26, 26, 26, 23]);
});

test("ids are split behind control tokens, and where there is no more room", () => {
  const ids = [1, 2, END, START, 3, 4, 5, 6, END];
  const rooms = [10, 10, 2, 1, 10, 10];
  const units = behindControlTokens(ids, () => rooms.shift() ?? 0);
  const parts = Array.from(units, (unit) => (unit.type === "ids" ? unit.ids : []));
  expect(parts).toEqual([[1, 2, END], [START], [3, 4], [5], [6, END]]);
});
