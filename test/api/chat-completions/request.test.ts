import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { memberText } from "../../../src/harmony/index.ts";
import { createTestApp } from "../../helpers/app.ts";
import { createBrowsingApp } from "../../helpers/browsing-app.ts";
import { readChatMessage } from "../../helpers/replies.ts";
import { type Script, scriptedEngine } from "../../helpers/scripted-engine.ts";
import { analysisIn } from "../../helpers/tool-loop.ts";

const ANSWER = "<|channel|>final<|message|>Hi.<|return|>";

const chatCase = z.object({
  id: z.string(),
  level: z.string(),
  note: z.string().nullish(),
  request: z.object({ current_date: z.string() }).optional(),
  expected_text: z.string().optional(),
  expected_token_ids: z.array(z.number()).optional(),
});

const cases = readFileSync(
  new URL("../../fixtures/harmony-cases/harmony-render.jsonl", import.meta.url),
  "utf8",
)
  .split("\n")
  .filter((line) => line !== "")
  .map((line) => ({ ...chatCase.parse(JSON.parse(line)), line }))
  .filter((each) => each.level === "chat");

/** The prompts that the engine gets for a request, and the reply. */
async function ask(body: object | string, scripts: readonly Script[] = [ANSWER], date = "none") {
  const engine = scriptedEngine(scripts);
  const settings = {
    identity: "You are ChatGPT, a large language model trained by OpenAI.",
    knowledgeCutoff: "2024-06",
    date,
  };
  const { send } = createBrowsingApp({ engine, toolbox: {}, settings });
  const response = await send("/v1/chat/completions", {
    method: "POST",
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
  const [request] = engine.requests;
  const [prompt = ""] = engine.prompts;
  return { response, prompt, ids: request?.prompt.ids, prompts: engine.prompts };
}

test("the file has the expected number of chat cases", () => {
  expect(cases.length).toBe(17);
});

describe("a chat request becomes the prompt that the cases expect", () => {
  test.each(cases)("$id $note", async ({ line, request, expected_text, expected_token_ids }) => {
    const body = memberText(line, "request") ?? "";
    const { prompt, ids } = await ask(body, [ANSWER, ANSWER], request?.current_date);
    expect(prompt.replaceAll("\u200b", "")).toBe(expected_text);
    expect(ids).toEqual(expected_token_ids);
  });
});

const user = { role: "user", content: "hi" };
const call = (id: string, name = "f") => ({
  id,
  type: "function",
  function: { name, arguments: "{}" },
});
const tool = (name: string, parameters?: unknown) => ({
  type: "function",
  function: { name, parameters },
});

test.each([
  [
    "an image",
    { messages: [{ role: "user", content: [{ type: "image_url", image_url: { url: "x" } }] }] },
    "messages[0].content[0].type",
  ],
  [
    "a tool call without a function",
    { messages: [user, { role: "assistant", tool_calls: [{ id: "a" }] }] },
    "messages[1].tool_calls[0].function",
  ],
  ["a stop string of 1,001 characters", { messages: [user], stop: "x".repeat(1_001) }, "stop"],
  ["one such among others", { messages: [user], stop: ["a", "x".repeat(1_001)] }, "stop[1]"],
  [
    "a tool without a name",
    { messages: [user], tools: [{ type: "function", function: {} }] },
    "tools[0].function.name",
  ],
  ["an effort that is no text", { messages: [user], reasoning: { effort: 3 } }, "reasoning.effort"],
  [
    "a schema with a number no double can hold",
    '{"messages":[{"role":"user","content":"x"}],"tools":[{"type":"function","function":' +
      '{"name":"f","parameters":{"type":"object","properties":{"a":{"default":1e999}}}}}]}',
    "tools",
  ],
])("%s is refused with the field's name", async (_, body, param) => {
  const { response } = await ask(body);
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({ error: { param, type: "invalid_request_error" } });
});

describe("other fields that clients send are accepted", () => {
  test.each([
    ["unknown fields", { messages: [user], chat_template_kwargs: {}, num_ctx: 1 }],
    [
      "null for everything optional",
      { messages: [user], tools: null, stop: null, temperature: null, reasoning: null, n: null },
    ],
    ["empty tools", { messages: [user], tools: [] }],
    [
      "content parts with cache control",
      {
        messages: [
          {
            role: "user",
            content: [{ type: "text", text: "hi", cache_control: { type: "ephemeral" } }],
          },
        ],
      },
    ],
    ["a message without content", { messages: [user, { role: "assistant" }, user] }],
    [
      "null tool calls and empty details",
      {
        messages: [
          user,
          { role: "assistant", content: "x", tool_calls: null, reasoning_details: [] },
          user,
        ],
      },
    ],
    [
      "details in a mangled format",
      {
        messages: [
          user,
          {
            role: "assistant",
            content: null,
            reasoning_details: [{ type: "reasoning.text", text: "t", format: "unknownunknown" }],
            tool_calls: [call("a")],
          },
          { role: "tool", tool_call_id: "a", content: "1" },
        ],
      },
    ],
    [
      "a result that names its tool but not a known call",
      { messages: [user, { role: "tool", tool_call_id: "?", name: "f", content: "1" }] },
    ],
  ])("%s", async (_, body) => {
    expect((await ask(body)).response.status).toBe(200);
  });
});

describe("reasoning sent back is taken from one source", () => {
  const detail = (text: string, index = 0) => ({ type: "reasoning.text", text, index });
  test.each([
    ["reasoning", { reasoning: "a" }, "a"],
    ["reasoning_content", { reasoning_content: "b" }, "b"],
    ["reasoning_text", { reasoning_text: "c" }, "c"],
    ["thinking", { thinking: "d" }, "d"],
    ["details", { reasoning_details: [detail("e")] }, "e"],
    [
      "details in another order than they stand",
      { reasoning_details: [detail("y", 1), detail("x", 0)] },
      "xy",
    ],
    ["details as a string", { reasoning_details: "f" }, "f"],
    [
      "details before the rest",
      { reasoning_details: [detail("g")], reasoning: "h", reasoning_content: "i" },
      "g",
    ],
    ["reasoning before reasoning_content", { reasoning: "h", reasoning_content: "i" }, "h"],
    ["empty details, then reasoning", { reasoning_details: [], reasoning: "j" }, "j"],
    [
      "encrypted details only",
      { reasoning_details: [{ type: "reasoning.encrypted", data: "zzz" }] },
      undefined,
    ],
    [
      "summaries when there is no text",
      { reasoning_details: [{ type: "reasoning.summary", summary: "s" }] },
      "s",
    ],
    ["nothing", {}, undefined],
  ])("%s", async (_, fields, expected) => {
    const { prompt } = await ask({
      messages: [
        user,
        { role: "assistant", content: null, tool_calls: [call("a")], ...fields },
        { role: "tool", tool_call_id: "a", content: "1" },
      ],
    });
    expect(analysisIn(prompt)).toEqual(expected === undefined ? [] : [expected]);
  });
});

test("restored reasoning keeps its original position", async () => {
  const start = "<|start|>assistant";
  const analysis = (text: string) => `<|channel|>analysis<|message|>${text}<|end|>${start}`;
  const f = "<|channel|>commentary to=functions.f <|constrain|>json<|message|>{}<|call|>";
  const preamble = `<|channel|>commentary<|message|>Wait.<|end|>${start}`;
  const engine = scriptedEngine([
    `${analysis("one")}${preamble}${analysis("two")}${f}`,
    f,
    analysis("no call"),
    ANSWER,
  ]);
  const { post } = createTestApp({ engine, settings: { sampleMoreCalls: true } });
  const request = { tools: [tool("f")], messages: [user] };
  const { content, tool_calls = [] } = await readChatMessage(await post(request));
  const results = tool_calls.map(({ id }) => ({ role: "tool", tool_call_id: id, content: "1" }));
  const messages = [user, { role: "assistant", content, tool_calls }, ...results];
  await post({ ...request, messages });
  const written = (engine.prompts.at(-1) ?? "").split(start).slice(1, -1);
  expect(written.map((each) => /<\|message\|>(.*?)<\|/.exec(each)?.[1])).toEqual([
    "one",
    "Wait.",
    "two",
    "{}",
    "{}",
  ]);
});

test("a schema keeps the key order and the numbers of the request's text", async () => {
  const { prompt } = await ask(
    '{"messages":[{"role":"user","content":"x"}],"tools":[{"type":"function","function":{"name":"f",' +
      '"parameters":{"type":"object","properties":{"b":{"type":"number","default":1.0},"2":{"type":"string"},"a":{"type":"string"}}}}}]}',
  );
  expect(prompt).toContain(
    "type f = (_: {\nb?: number, // default: 1.0\n2?: string,\na?: string,\n}) => any;",
  );
});

test("a prefill is continued, not rendered as a finished answer", async () => {
  const { prompt } = await ask({ messages: [user, { role: "assistant", content: "Once upon" }] });
  expect(prompt).toMatch(
    /<\|start\|>user<\|message\|>hi<\|end\|><\|start\|>assistant<\|channel\|>final<\|message\|>Once upon$/,
  );
});

test("legacy functions are offered like tools, and their results are matched by name", async () => {
  const body = {
    messages: [
      user,
      { role: "assistant", content: null, function_call: { name: "f", arguments: "{}" } },
      { role: "function", name: "f", content: "42" },
    ],
    functions: [{ name: "f", parameters: { type: "object", properties: {} } }],
    function_call: { name: "f" },
  };
  const { prompts } = await ask(body, ["Hm.<|end|>", "{}<|call|>"]);
  expect(prompts[0]).toContain(
    "<|start|>functions.f to=assistant<|channel|>commentary<|message|>42<|end|>",
  );
  expect(prompts[1]).toMatch(
    / to=functions\.f<\|channel\|>commentary <\|constrain\|>json<\|message\|>$/,
  );
});

describe("allowed tools restrict the choice and leave the prompt as it is", () => {
  const body = { messages: [user], tools: [tool("f"), tool("g")] };
  const callOfF = "<|channel|>commentary to=functions.f <|constrain|>json<|message|>{}<|call|>";

  test.each([[undefined], [null], ["auto"]])("%s: a call of another is refused", async (mode) => {
    const free = await ask(body);
    const { ids, prompts } = await ask(restrictedTo(mode), [callOfF, ANSWER]);
    expect(ids).toEqual(free.ids);
    expect(prompts[1]).toContain('the function "f" cannot be called now. Functions: g.');
  });

  test("required: the call is to it", async () => {
    const { prompts } = await ask(restrictedTo("required"), ["Hm.<|end|>", "{}<|call|>"]);
    expect(prompts[1]).toMatch(/ to=functions\.g<\|channel\|>/);
  });

  test("none: every call is refused", async () => {
    const { prompts } = await ask(restrictedTo("none"), [callOfF, ANSWER]);
    expect(prompts[1]).toContain("cannot be called now. Functions: none.");
  });

  function restrictedTo(mode: string | null | undefined) {
    const tools = [{ type: "function", function: { name: "g" } }];
    return { ...body, tool_choice: { type: "allowed_tools", allowed_tools: { mode, tools } } };
  }
});

test.each([
  ["alice", "user:alice"],
  ["Alice Smith", "user:Alice_Smith"],
  ["Grüße.1-2_3", "user:Grüße.1-2_3"],
  ["<|end|> <x>", "user:_end_x_"],
  ["n".repeat(80), `user:${"n".repeat(64)}`],
  [" ", "user"],
  ["", "user"],
  [null, "user"],
])("a user's name %j stands in the header as %s", async (name, author) => {
  const { prompt } = await ask({ messages: [{ ...user, name }] });
  expect(prompt).toContain(`<|start|>${author}<|message|>hi<|end|>`);
});
