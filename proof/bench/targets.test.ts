/** The bounds that a run keeps. */
import { expect, test } from "vitest";
import { describeMachine } from "./machine.ts";
import { toMeasured } from "./statistics.ts";
import { judge } from "./targets.ts";

/** @param own milliseconds of the gateway's next turn, to compare with js-tiktoken's */
function judgeNextTurn(own: number, jsTiktoken: number) {
  const row = { tokens: 100_000, seenMs: own, jsTiktokenMs: jsTiktoken };
  const conversations = [
    Object.fromEntries(Object.entries(row).map(([name, value]) => [name, toMeasured([value])])),
  ];
  const verdicts = judge({
    machine: describeMachine(),
    command: "",
    rounds: 1,
    inner: { conversations },
  });
  return verdicts.filter(({ measured }) => measured !== undefined);
}

test("a time with a peer is judged beside what the peer took in the same run", () => {
  const [fast, ...others] = judgeNextTurn(2.2, 195);
  expect(others).toEqual([]);
  expect(fast).toEqual({
    path: "turn n+1 of 100,000 tokens",
    target: "≤ 0.02 × js-tiktoken",
    measured: "0.0113 × js-tiktoken",
    met: true,
  });
  // Equal work on a machine half as fast, and then more work.
  expect(judgeNextTurn(7.7, 390)).toMatchObject([{ met: true }]);
  expect(judgeNextTurn(7.9, 390)).toMatchObject([{ met: false }]);
  expect(judgeNextTurn(4, 195)).toMatchObject([{ met: false }]);
});

test("a bound without all of its measurements is not judged", () => {
  expect(judgeNextTurn(2.2, NaN)).toEqual([]);
});
