import * as fc from "fast-check";
import { expect, test } from "vitest";
import { createStopMatcher } from "../../../src/turn/output/stop-strings.ts";

interface Matched {
  readonly text: string;
  readonly matched: string | undefined;
}

/** The output for `pieces`, pushed one by one. */
function match(stop: readonly string[], pieces: readonly string[]): Matched {
  const matcher = createStopMatcher(stop);
  let text = "";
  for (const piece of pieces) text += matcher.push(piece);
  if (matcher.matched() === undefined) text += matcher.end();
  return { text, matched: matcher.matched() };
}

/** Finds by brute force the match that ends first, and the longest if several end together. */
function matchNaively(stop: readonly string[], text: string): Matched {
  for (let end = 1; end <= text.length; end++) {
    const ending = stop.filter((each) => text.slice(0, end).endsWith(each));
    const longest = ending.toSorted((a, b) => b.length - a.length)[0];
    if (longest !== undefined) {
      return { text: text.slice(0, end - longest.length), matched: longest };
    }
  }
  return { text, matched: undefined };
}

const letters = fc.string({ unit: fc.constantFrom("a", "b", "\u{1F600}", "é"), maxLength: 30 });
const stops = fc.array(
  fc.string({ unit: fc.constantFrom("a", "b", "\u{1F600}"), minLength: 1, maxLength: 6 }),
  { minLength: 1, maxLength: 4 },
);

test("finds what a brute-force search finds, however the text is split", () => {
  fc.assert(
    fc.property(stops, fc.array(letters, { maxLength: 6 }), (stop, pieces) => {
      expect(match(stop, pieces)).toEqual(matchNaively(stop, pieces.join("")));
    }),
    { numRuns: 2_000 },
  );
});

test("after skipped text, finds the matches that end behind it", () => {
  fc.assert(
    fc.property(stops, letters, letters, (stop, skipped, text) => {
      const matcher = createStopMatcher(stop);
      const returned = matcher.skip(skipped) + matcher.push(text) + matcher.end();
      const whole = skipped + text;
      const ends = Array.from({ length: text.length }, (_, at) => skipped.length + at + 1);
      const endingAt = (end: number) => stop.filter((one) => whole.slice(0, end).endsWith(one));
      const end = ends.find((each) => endingAt(each).length > 0) ?? whole.length;
      const [matched] = endingAt(end).toSorted((one, other) => other.length - one.length);
      const isMatch = text !== "" && matched !== undefined;
      expect({ matched: matcher.matched(), returned }).toEqual({
        matched: isMatch ? matched : undefined,
        returned: isMatch ? whole.slice(0, end - matched.length) : whole,
      });
    }),
    { numRuns: 1_000 },
  );
});

test("holds back the longest end of the text that begins a stop string, and no more", () => {
  fc.assert(
    fc.property(stops, letters, (stop, text) => {
      if (matchNaively(stop, text).matched !== undefined) return;
      const matcher = createStopMatcher(stop);
      const given = matcher.push(text);
      let held = 0;
      for (let length = 1; length <= text.length; length++) {
        const tail = text.slice(text.length - length);
        if (stop.some((each) => each.startsWith(tail))) held = length;
      }
      expect(text.length - given.length).toBe(held);
      expect(given + matcher.end()).toBe(text);
    }),
    { numRuns: 1_000 },
  );
});

test.each<[string, readonly string[], readonly string[], string, string]>([
  ["a string inside another", ["abcd", "bc"], ["xab", "cd"], "xa", "bc"],
  ["two that end together", ["bc", "abc"], ["xabc"], "x", "abc"],
  ["one that begins again within itself", ["aab"], ["aa", "aab"], "aa", "aab"],
  ["a string after half of another", ["abx", "bcy"], ["ab", "cy"], "a", "bcy"],
  [
    "half a surrogate pair at the cut",
    ["\u{1F600}!"],
    ["a\uD83D", "\uDE00", "!"],
    "a",
    "\u{1F600}!",
  ],
])("%s", (_, stop, pieces, text, matched) => {
  expect(match(stop, pieces)).toEqual({ text, matched });
});

test("returns nothing after a match", () => {
  const matcher = createStopMatcher(["."]);
  expect([matcher.push("a.b"), matcher.push("c"), matcher.end()]).toEqual(["a", "", ""]);
});

test("the number of steps grows with the answer, not with the stop string", () => {
  const stop = `${"a".repeat(100_000)}b`;
  const matcher = createStopMatcher([stop]);
  for (let token = 0; token < 20_000; token++) matcher.push("aaaaaaaa");
  expect(matcher.steps()).toBeLessThanOrEqual(2 * 160_000);
});
