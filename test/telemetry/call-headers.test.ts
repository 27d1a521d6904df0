/** The counter of the headers that the model writes. */
import { expect, test } from "vitest";
import { createTestApp } from "../helpers/app.ts";
import { scriptedEngine } from "../helpers/scripted-engine.ts";
import { STEP_TOOL } from "../helpers/tool-loop.ts";

const messages = [{ role: "user", content: "Go." }];
const count = (form: string) => `call_headers_total{form="${form}"}`;

test.each([
  [
    "<|channel|>commentary to=functions.step <|constrain|>json",
    "channel-first commentary constrain-json",
  ],
  [" to=functions.step<|channel|>commentary json", "recipient-first commentary json"],
  [
    "<|channel|>commentary to=functions.step<|constrain|>json",
    "channel-first commentary joined-constrain-json",
  ],
  ["<|channel|>analysis to=functions.step code", "channel-first analysis code"],
  ["<|channel|>commentary<|channel|>functions.step json", "other"],
])("%s is counted as %s", async (header, form) => {
  const engine = scriptedEngine([`${header}<|message|>{"n":1}<|call|>`]);
  const app = createTestApp({ engine });
  await app.post({ messages, tools: [STEP_TOOL] });
  expect(await app.counter(count(form))).toBe(1);
});

test("a header that the gateway writes is not counted", async () => {
  const engine = scriptedEngine(['{"n":1}<|call|>', '{"n":1}<|call|>']);
  const app = createTestApp({ engine });
  await app.post({
    messages,
    tools: [STEP_TOOL],
    tool_choice: { type: "function", function: { name: "step" } },
    reasoning: { enabled: false },
  });
  expect(engine.prompts.at(-1)).toContain("to=functions.step");
  for (const order of ["recipient-first", "channel-first"]) {
    expect(await app.counter(count(`${order} commentary constrain-json`))).toBeUndefined();
  }
  expect(await app.counter(count("other"))).toBeUndefined();
});
