/** Results of tool calls in the prompt. */
import { expect, test } from "vitest";
import { createBrowsingApp } from "../helpers/browsing-app.ts";
import { scriptedEngine } from "../helpers/scripted-engine.ts";
import { type Call, CLIENTS, type Entry } from "./clients.ts";

const ANSWER = "<|channel|>final<|message|>Done.<|return|>";
const PARIS: Call = { id: "c1", name: "get_weather", args: '{"city":"Paris"}' };

test.each(CLIENTS)("$name: a result follows its call", async ({ path, toBody }) => {
  const engine = scriptedEngine([ANSWER]);
  const { post } = createBrowsingApp({ engine, toolbox: {} });
  const entries: readonly Entry[] = [
    { type: "user", text: "Weather?" },
    { type: "assistant", calls: [PARIS] },
    { type: "result", id: "c1", text: "18 C" },
  ];
  expect((await post(path, toBody(entries, ["get_weather"]))).status).toBe(200);
  const [call, result] = engine.prompts[0]?.split("<|start|>").slice(-3) ?? [];
  expect(call).toContain(PARIS.args);
  expect(result).toContain("18 C");
});
