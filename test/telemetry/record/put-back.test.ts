/** The record of a tool loop tells which messages of the prompt are as they were sampled, and why others are not. */
import { expect, test } from "vitest";
import { createRecordedApp } from "../../helpers/recorded-app.ts";
import { scriptedEngine } from "../../helpers/scripted-engine.ts";
import { readChatMessage } from "../../helpers/replies.ts";

const CALL =
  '<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>commentary to=functions.f <|constrain|>json<|message|>{"a":1}<|call|>';
const ANSWER = "<|channel|>final<|message|>Done.<|return|>";

test.each([
  ['{"a": 1}', { as: "sampled" }],
  ['{"a":2}', { as: "rendered", because: "arguments" }],
])("a call that comes back with %s", async (args, written) => {
  const app = createRecordedApp({ engine: scriptedEngine([CALL, ANSWER]) });
  const tools = [{ type: "function", function: { name: "f" } }];
  const question = { role: "user", content: "Go." };
  const post = async (messages: readonly object[]) =>
    app.post("/v1/chat/completions", { messages, tools });
  const { tool_calls: [call] = [] } = await readChatMessage(await post([question]));
  const sent = { ...call, type: "function", function: { name: "f", arguments: args } };
  await post([
    question,
    { role: "assistant", tool_calls: [sent] },
    { role: "tool", tool_call_id: call?.id, content: "ok" },
  ]);
  const [first, second] = await app.records();
  expect(first?.conversation.every((each) => each.written === undefined)).toBe(true);
  const steps = second?.conversation.flatMap((each) => (each.written ? [each] : []));
  expect(steps?.map((each) => [each.channel, each.written])).toEqual([
    ["analysis", { as: "sampled" }],
    ["commentary", written],
  ]);
});
