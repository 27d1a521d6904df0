/** Words of a client are in no line of the log without `logContent`, wherever a request has them, and lines stay short. */
import { expect, test } from "vitest";
import { appOf } from "../helpers/app.ts";
import { testLog, testSettings } from "../helpers/gateway.ts";
import { scriptedEngine } from "../helpers/scripted-engine.ts";

const WORDS = "my password is hunter2";
const LONG = `hunter2${"x".repeat(1_000_000)}`;
const CHAT = { messages: [{ role: "user", content: "hi" }] };
const USER = { role: "user", content: "hi" };
const MESSAGES = { ...CHAT, max_tokens: 8 };
const CALL = { server_label: WORDS, name: LONG, arguments: "{}" };

const many = (type: string) => Array.from({ length: 100 }, (_, index) => ({ type: type + index }));
const deep = JSON.parse("[".repeat(70) + "]".repeat(70));

test.each<[path: string, where: string, body: object, status: number]>([
  [
    "chat/completions",
    "kinds of plugins",
    { ...CHAT, plugins: [{ id: WORDS }, { id: LONG }] },
    200,
  ],
  [
    "chat/completions",
    "many plugins",
    { ...CHAT, plugins: many("p").map(({ type }) => ({ id: type })) },
    200,
  ],
  ["chat/completions", "a member", { ...CHAT, [WORDS]: deep }, 400],
  ["chat/completions", "a long member", { ...CHAT, [LONG]: deep }, 400],
  ["chat/completions", "a key of a bias", { ...CHAT, logit_bias: { [WORDS]: 1 } }, 400],
  ["responses", "kinds of tools", { input: "hi", tools: [{ type: WORDS }, { type: LONG }] }, 200],
  ["responses", "many kinds of tools", { input: "hi", tools: many("t") }, 200],
  ["responses", "kinds of items", { input: [{ type: WORDS }, { type: LONG }, USER] }, 200],
  ["responses", "many kinds of items", { input: [...many("i"), USER] }, 200],
  [
    "responses",
    "kinds in a namespace",
    {
      input: "hi",
      tools: [{ type: "namespace", name: "ns", description: "", tools: [{ type: WORDS }] }],
    },
    200,
  ],
  ["responses", "a key of metadata", { input: "hi", metadata: { [WORDS]: 1 } }, 400],
  [
    "responses",
    "an approved call",
    {
      input: [
        { type: "mcp_approval_request", id: "a", ...CALL },
        { type: "mcp_approval_response", approval_request_id: "a", approve: true },
      ],
    },
    400,
  ],
  [
    "messages",
    "kinds of blocks",
    {
      max_tokens: 8,
      messages: [{ role: "user", content: [{ type: WORDS }, { type: "text", text: "hi" }] }],
    },
    200,
  ],
  ["messages", "kinds of plugins", { ...MESSAGES, plugins: [{ id: WORDS }, { id: LONG }] }, 200],
])("/v1/%s: %s", async (path, _, body, status) => {
  const logged: Record<string, unknown>[] = [];
  const engine = scriptedEngine(() => "<|channel|>final<|message|>Yes.<|return|>");
  const app = appOf(testSettings(), [{ id: "m", engine }], { log: testLog(logged) });
  const response = await app.request(`/v1/${path}`, {
    method: "POST",
    body: JSON.stringify({ model: "m", ...body }),
  });
  await response.text();
  expect(response.status).toBe(status);
  const lines = logged.map((entry) => JSON.stringify(entry));
  expect(lines.filter((line) => line.includes("hunter2"))).toEqual([]);
  expect(Math.max(...lines.map(({ length }) => length))).toBeLessThan(1000);
});
