/** How the token count of one read is divided when the read is consumed in parts. */
import { expect, test } from "vitest";
import { END, START } from "../../../src/harmony/index.ts";
import { oneByOne, sizeOf, sliceTokens, unitEnd } from "../../../src/turn/reading/token-units.ts";

type EngineTokens = Parameters<typeof sizeOf>[0];

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

test("a text that is read in parts carries a share of its count in each", () => {
  const tokens: EngineTokens = { type: "text", text: "abcd ".repeat(100), tokens: 101 };
  const units = unitsOf(tokens, [128, 128, 128, 128]);
  expect(countsOf(units)).toEqual([26, 26, 26, 23]);
  expect(units.map((unit) => (unit.type === "text" ? unit.text : "")).join("")).toBe(tokens.text);
});

test("text is split behind what may be a control token", () => {
  const units = unitsOf({ type: "text", text: "ab|>c<|end|>de" }, []);
  expect(units.map((unit) => unit.type === "text" && unit.text)).toEqual([
    "ab|>",
    "c<|end|>",
    "de",
  ]);
});

test("ids are split behind control tokens, and where there is no more room", () => {
  const ids = [1, 2, END, START, 3, 4, 5, 6, END];
  const units = unitsOf({ type: "ids", ids }, [10, 10, 2, 1, 10, 10]);
  const parts = units.map((unit) => (unit.type === "ids" ? unit.ids : []));
  expect(parts).toEqual([[1, 2, END], [START], [3, 4], [5], [6, END]]);
});

/** @param rooms how many ids or characters there is room for in each unit; after the last, for any number */
function unitsOf(tokens: EngineTokens, rooms: number[]): EngineTokens[] {
  const units: EngineTokens[] = [];
  for (let at = 0; at < sizeOf(tokens);) {
    const end = unitEnd(tokens, at, rooms.shift() ?? Infinity);
    units.push(sliceTokens(tokens, at, end));
    at = end;
  }
  return units;
}
