/** Tools of training that the client runs itself, in the exact form of training. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type OpenAI from "openai";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { BROWSER, createBrowsingApp, MODEL } from "../../helpers/browsing-app.ts";
import { scriptedEngine } from "../../helpers/scripted-engine.ts";

/** Harmony's own test data. */
function harmonyPrompt(id: string): string {
  const lines = readFileSync(
    join(import.meta.dirname, "../../fixtures/builtin-tools/cases.jsonl"),
    "utf8",
  ).split("\n");
  const recorded = z.looseObject({ id: z.string(), expected: z.unknown() });
  const cases = lines.filter((line) => line !== "").map((line) => recorded.parse(JSON.parse(line)));
  return String(cases.find((each) => each.id === id)?.expected);
}

const settings = { date: "2025-06-28" };
const tools = [
  {
    type: "function",
    function: {
      name: "lookup_weather",
      description:
        "Use this tool to lookup the weather in a given location. Call it with the parameter 'location', can be any textual description of a location.",
      parameters: {
        type: "object",
        properties: { location: { type: "string" } },
        required: ["location"],
      },
    },
  },
];
const HELLO = { role: "user", content: "What is 2**10?" };
const request = { model: MODEL, messages: [HELLO], builtin_tools: ["python", "browser"] };

const CODE = 'x = {"input": 1}\nprint("\u{1f389}", 2**10)\n';
const CALL = `<|channel|>analysis<|message|>Compute.<|end|><|start|>assistant to=python<|channel|>analysis code<|message|>${CODE}<|call|>`;
const SEARCH = ' to=browser.search<|channel|>analysis code<|message|>{"query":"x"}<|call|>';
const FINAL = "<|channel|>final<|message|>1024<|return|>";

const reply = z.looseObject({
  choices: z.array(
    z.looseObject({
      finish_reason: z.string(),
      message: z.looseObject({ tool_calls: z.array(z.looseObject({ id: z.string() })).optional() }),
    }),
  ),
});

async function readChoice(response: Response) {
  expect(response.status).toBe(200);
  return reply.parse(await response.json()).choices[0];
}

test.each([
  ["render-browser-only", { builtin_tools: ["browser"] }],
  ["render-browser-and-python", { builtin_tools: ["python", "browser"] }],
  ["render-browser-and-function", { builtin_tools: ["browser"], tools }],
])("the system message is that of Harmony's %s", async (id, fields) => {
  const engine = scriptedEngine([FINAL]);
  const { post } = createBrowsingApp({ engine, toolbox: {}, settings });
  await readChoice(await post("/v1/chat/completions", { ...request, ...fields }));
  const expected = harmonyPrompt(id).replace(/<\|start\|>assistant$/, "");
  expect(engine.prompts[0]?.startsWith(expected)).toBe(true);
});

test("a call is the client's, and its result goes back as the model knows it", async () => {
  const engine = scriptedEngine([CALL, SEARCH, FINAL]);
  const { post } = createBrowsingApp({ engine, toolbox: {} });
  const first = await readChoice(await post("/v1/chat/completions", request));
  expect(first).toMatchObject({
    finish_reason: "tool_calls",
    message: {
      tool_calls: [{ type: "custom", custom: { name: "python", input: CODE } }],
    },
  });
  const messages = [
    HELLO,
    { role: "assistant", ...first?.message },
    { role: "tool", tool_call_id: first?.message.tool_calls?.[0]?.id, content: "1024\n" },
  ];
  const second = await readChoice(await post("/v1/chat/completions", { ...request, messages }));
  const [before = "", after = ""] = engine.prompts;
  expect(after).toBe(
    `${before}${CALL}<|start|>python to=assistant<|channel|>analysis<|message|>1024\n<|end|><|start|>assistant`,
  );
  expect(second?.message.tool_calls).toMatchObject([
    { type: "function", function: { name: "browser.search", arguments: '{"query":"x"}' } },
  ]);
  const third = [
    ...messages,
    { role: "assistant", ...second?.message },
    { role: "tool", tool_call_id: second?.message.tool_calls?.[0]?.id, content: "[0] x" },
  ];
  await readChoice(await post("/v1/chat/completions", { ...request, messages: third }));
  expect(engine.prompts[2]).toBe(
    `${after}${SEARCH}<|start|>browser.search to=assistant<|channel|>analysis<|message|>[0] x<|end|><|start|>assistant`,
  );
});

test("code is streamed through OpenAI's client", async () => {
  const { client } = createBrowsingApp({ engine: scriptedEngine([CALL], { batch: 2 }) });
  const params: OpenAI.ChatCompletionCreateParamsStreaming = {
    ...JSON.parse(JSON.stringify(request)),
    stream: true,
  };
  const stream = await client.chat.completions.create(params);
  const pieces: string[] = [];
  const delta = z.looseObject({
    tool_calls: z
      .array(z.looseObject({ custom: z.looseObject({ input: z.string() }).optional() }))
      .optional(),
  });
  for await (const { choices } of stream) {
    for (const each of delta.parse(choices[0]?.delta ?? {}).tool_calls ?? []) {
      if (each.custom) pieces.push(each.custom.input);
    }
  }
  expect(pieces.join("")).toBe(CODE);
  expect(pieces.length).toBeGreaterThan(3);
});

test("after an answer, calls and results are dropped like other reasoning", async () => {
  const engine = scriptedEngine([FINAL]);
  const { post } = createBrowsingApp({ engine, toolbox: {} });
  const call = { id: "a", type: "custom", custom: { name: "python", input: "1" } };
  const messages = [
    HELLO,
    { role: "assistant", content: null, tool_calls: [call] },
    { role: "tool", tool_call_id: "a", content: "1" },
    { role: "assistant", content: "One." },
    HELLO,
  ];
  await readChoice(await post("/v1/chat/completions", { ...request, messages }));
  expect(engine.prompts[0]).not.toContain("to=python");
  expect(engine.prompts[0]).toContain("<|message|>One.<|end|>");
});

describe("refused", () => {
  test.each([
    [
      { builtin_tools: ["python"], tools: [{ type: "function", function: { name: "python" } }] },
      'builtin_tools[0]: "python" is also a tool of this request',
    ],
    [
      { builtin_tools: ["browser"], tools: [{ type: "browser_search" }] },
      'builtin_tools[0]: "browser" is also run by the gateway for this request',
    ],
    [{ builtin_tools: ["bash"] }, "builtin_tools[0]: "],
  ])("%j", async (fields, message) => {
    const { post } = createBrowsingApp({
      engine: scriptedEngine([FINAL]),
      toolbox: { browser: BROWSER },
    });
    const response = await post("/v1/chat/completions", { ...request, ...fields });
    expect(response.status).toBe(400);
    const { error } = z
      .object({ error: z.object({ message: z.string() }) })
      .parse(await response.json());
    expect(error.message).toContain(message);
  });
});
