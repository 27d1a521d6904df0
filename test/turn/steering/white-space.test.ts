/** JSON allows white space without end between its tokens: a model that falls for it is stopped before its limit. */
import { describe, expect, test } from "vitest";
import { parseJson } from "../../../src/harmony/index.ts";
import { scriptedEngine, type ScriptedOptions } from "../../helpers/scripted-engine.ts";
import { finishTurn, formedAnswer, offeredTool, partsOf, turnWith } from "../../helpers/turns.ts";

const CITY = '{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}';
const ANSWER = turnWith({
  answer: formedAnswer("out", parseJson(CITY)),
  maxOutputTokens: 8_000,
});
const BLANK = " \n\t".repeat(10_000);
/** Where the model writes it: at most so much of it is read. */
const MOST = 1024 + 64;

describe.each<[string, ScriptedOptions]>([
  ["ids", { form: "ids" }],
  ["pieces", { form: "pieces" }],
  ["text", { form: "text" }],
])("an engine that gives %s and constrains", (_, { form = "ids" }) => {
  const options: ScriptedOptions = { form, capabilities: { constraints: ["json-schema"] } };

  test("ends an answer that is complete before the white space", async () => {
    const engine = scriptedEngine(
      ["<|channel|>final<|message|>", `{"city":"Oslo"}${BLANK}`],
      options,
    );
    const turn = await finishTurn(engine, ANSWER);
    const [, text = ""] = partsOf(turn).at(-1) ?? [];
    expect(text.trimEnd()).toBe('{"city":"Oslo"}');
    expect(text.length).toBeLessThan(15 + MOST);
    expect(turn.end).toMatchObject({ finish: "stop" });
    expect(engine.open).toBe(0);
  });

  test("fails an answer that stops in its middle, long before the limit", async () => {
    const engine = scriptedEngine(["<|channel|>final<|message|>", `{"city":${BLANK}`], options);
    const { end } = await finishTurn(engine, ANSWER);
    expect(end).toMatchObject({ finish: "error", failure: { kind: "invalid_answer" } });
    expect(end.usage.completionTokens).toBeLessThan(2_000);
  });
});

test("without a constraint, the gateway samples an answer again that goes on with white space", async () => {
  const engine = scriptedEngine([
    `<|channel|>final<|message|>{"city":${BLANK}`,
    '{"city":"Oslo"}<|return|>',
  ]);
  const turn = await finishTurn(engine, ANSWER);
  expect(partsOf(turn)).toEqual([["content", '{"city":"Oslo"}']]);
  expect(turn.end).toMatchObject({ finish: "stop", usage: { engineCalls: 2 } });
});

test("arguments that go on with white space are a complete call", async () => {
  const engine = scriptedEngine(["<|end|>", `{"city":"Oslo"}${BLANK}`], {
    capabilities: { constraints: ["json-schema"] },
  });
  const required = turnWith({
    tools: [offeredTool("get_weather", CITY)],
    toolChoice: { type: "required", names: ["get_weather"] },
    maxOutputTokens: 8_000,
  });
  const turn = await finishTurn(engine, required);
  const [kind, text = ""] = partsOf(turn).at(-1) ?? [];
  expect([kind, text.trimEnd()]).toEqual(["tool-call", '{"city":"Oslo"}']);
  expect(turn.end).toMatchObject({ finish: "tool-calls" });
});

test("an answer in plain text may have any white space", async () => {
  const text = `a${BLANK.slice(0, 6_000)}b`;
  const engine = scriptedEngine([`<|channel|>final<|message|>${text}<|return|>`]);
  const turn = await finishTurn(engine, turnWith({}));
  expect(partsOf(turn)).toEqual([["content", text]]);
});
