import { expect, it } from "vitest";
import { toTokenLogprob } from "../../../src/node/llama/engine.ts";

const probabilities = new Map([
  [7, 0.5],
  [8, 0.3],
  [9, 0.2],
]);

it("are the logarithms of the probabilities at temperature 1", () => {
  expect(toTokenLogprob(8, probabilities, 1, 2)).toEqual({
    id: 8,
    logprob: expect.closeTo(Math.log(0.3), 10),
    top: [
      { id: 7, logprob: expect.closeTo(Math.log(0.5), 10) },
      { id: 8, logprob: expect.closeTo(Math.log(0.3), 10) },
    ],
  });
});

it("are those of the model whatever the temperature was", () => {
  const temperature = 0.5;
  const sharpened = Array.from(probabilities, ([id, p]) => [id, p ** (1 / temperature)] as const);
  const sum = sharpened.reduce((total, [, p]) => total + p, 0);
  const sampled = new Map(sharpened.map(([id, p]) => [id, p / sum]));
  const plain = toTokenLogprob(9, probabilities, 1, 3);
  const { logprob, top } = toTokenLogprob(9, sampled, temperature, 3);
  expect(logprob).toBeCloseTo(plain.logprob, 10);
  expect(top.map(({ id }) => id)).toEqual([7, 8, 9]);
  for (const [rank, each] of top.entries()) {
    expect(each.logprob).toBeCloseTo(plain.top[rank]?.logprob ?? 0, 10);
  }
});

it("do not divide by zero if the likeliest token is taken", () => {
  expect(toTokenLogprob(7, probabilities, 0, 0)).toEqual({
    id: 7,
    logprob: expect.closeTo(Math.log(0.5), 10),
    top: [],
  });
});
