/**
 * Compares one engine call under a whole-turn constraint with two calls, the second of which has only the schema. On
 * llama.cpp in process with the tests' tiny model: `node proof/bench/single-call-constraint.ts`. The model's own cost per
 * token is negligible, so the result shows the cost of the grammar.
 */
import { parseJson } from "../../src/harmony/json.ts";
import { createTinyEngine } from "../../test/helpers/tiny-llama.ts";
import { finishTurn, formedAnswer, turnWith } from "../../test/helpers/turns.ts";

const ROUNDS = 5;
const schema = parseJson(
  '{"type":"object","properties":{"ok":{"type":"boolean"},"n":{"type":"integer"}},"required":["ok","n"],"additionalProperties":false}',
);
const turn = turnWith({
  maxOutputTokens: 300,
  answer: formedAnswer("out", schema),
  sampling: { ...turnWith().sampling, temperature: 0 },
});

const engine = await createTinyEngine({ contextLength: 2048 });
const times: Record<string, number[]> = { "two calls": [], "one call": [] };
for (let round = 0; round < ROUNDS; round++) {
  for (const [name, singleCallConstraint] of [
    ["two calls", false],
    ["one call", true],
  ] as const) {
    const begun = performance.now();
    const { end } = await finishTurn(engine, turn, { steering: { singleCallConstraint } });
    times[name]?.push((performance.now() - begun) / end.usage.completionTokens);
  }
}
await engine.close();
for (const [name, each] of Object.entries(times)) {
  const sorted = each.toSorted((a, b) => a - b);
  console.log(
    `${name}: ${sorted[ROUNDS >> 1]?.toFixed(1)} ms per token (${sorted[0]?.toFixed(1)} to ${sorted.at(-1)?.toFixed(1)})`,
  );
}
