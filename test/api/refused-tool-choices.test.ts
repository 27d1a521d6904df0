/** A refused `tool_choice` names the wrong field, on every API, before the engine is called. */
import { expect, test } from "vitest";
import { z } from "zod";
import { scriptedEngine } from "../helpers/scripted-engine.ts";
import { responsesApp } from "./responses/support.ts";

const model = "openai/gpt-oss-20b";
const messages = [{ role: "user", content: "hi" }];
const tools = [{ type: "function", function: { name: "f" } }];

const CHAT = { path: "/v1/chat/completions", body: { model, messages, tools } };
const RESPONSES = {
  path: "/v1/responses",
  body: { model, input: "hi", tools: [{ type: "function", name: "f" }] },
};
const MESSAGES = {
  path: "/v1/messages",
  body: {
    model,
    messages,
    max_tokens: 9,
    tools: [{ name: "f", input_schema: { type: "object" } }],
  },
};

const refusal = z.object({
  error: z.object({ message: z.string(), param: z.string().optional() }),
});

const other = { type: "function", name: "g" };
const nested = { type: "function", function: { name: "g" } };

test.each([
  [CHAT, "always", "tool_choice"],
  [CHAT, nested, "tool_choice.function.name"],
  [CHAT, { type: "function" }, "tool_choice.function"],
  [
    CHAT,
    { type: "allowed_tools", allowed_tools: { mode: "auto", tools: [tools[0], nested] } },
    "tool_choice.allowed_tools.tools[1].function.name",
  ],
  [
    CHAT,
    { type: "allowed_tools", allowed_tools: { mode: "never", tools } },
    "tool_choice.allowed_tools.mode",
  ],
  [RESPONSES, "always", "tool_choice"],
  [RESPONSES, other, "tool_choice.name"],
  [RESPONSES, { type: "file_search" }, "tool_choice.type"],
  [RESPONSES, { type: "allowed_tools", mode: "auto", tools: [other] }, "tool_choice.tools[0].name"],
  [
    RESPONSES,
    { type: "allowed_tools", mode: "auto", tools: [{ type: "mcp" }] },
    "tool_choice.tools[0].server_label",
  ],
  [MESSAGES, { type: "tool", name: "g" }, "tool_choice.name"],
  [MESSAGES, { type: "tool" }, "tool_choice.name"],
  [MESSAGES, { type: "always" }, "tool_choice.type"],
])("$0.path refuses $1 by naming $2", async ({ path, body }, choice, field) => {
  const engine = scriptedEngine([]);
  const response = await responsesApp({ engine }).send("POST", path, {
    ...body,
    tool_choice: choice,
  });
  const { error } = refusal.parse(await response.json());
  expect([response.status, engine.requests.length]).toEqual([400, 0]);
  expect(error.message.split(":")[0]).toBe(field);
  expect(error.param ?? field).toBe(field);
  expect(error.message).not.toMatch(/Invalid input|received/);
});

test.each([CHAT, RESPONSES])("$path refuses a required call without tools", async (given) => {
  const engine = scriptedEngine([]);
  const response = await responsesApp({ engine }).send("POST", given.path, {
    ...given.body,
    tools: [],
    tool_choice: "required",
  });
  expect(await response.json()).toMatchObject({ error: { param: "tool_choice" } });
});
