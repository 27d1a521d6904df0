import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { chatRequest } from "../../../src/api/chat-completions/request.ts";
import { toTurn, type ChatTurnContext } from "../../../src/api/chat-completions/to-turn.ts";
import { RequestError } from "../../../src/api/errors.ts";
import { toMediaRules } from "../../../src/api/request/content-text.ts";
import { parseBody, parseWith } from "../../../src/api/request/parse-request.ts";
import { createRenderer, dropFinishedAnalysis, memberText } from "../../../src/harmony/index.ts";
import type { Turn } from "../../../src/turn/turn.ts";

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

const renderer = createRenderer();

interface TurnOptions {
  readonly date?: string | undefined;
  readonly restored?: ChatTurnContext["restored"];
}

function turnOf(
  bodyText: string,
  { date = "2025-06-28", restored = new Map() }: TurnOptions = {},
): Turn {
  return toTurn(parseWith(chatRequest, parseBody(bodyText)), {
    turnId: "turn-1",
    tenant: "anonymous",
    bodyText,
    mediaRules: toMediaRules(undefined, "refuse"),
    restored,
    system: {
      identity: "You are ChatGPT, a large language model trained by OpenAI.",
      knowledgeCutoff: "2024-06",
      date,
    },
  });
}

function turnFor(body: object): Turn {
  return turnOf(JSON.stringify(body));
}

/** The prompt of a turn or of a request. */
function promptOf(turn: Turn) {
  return renderer.renderCompletion({ messages: dropFinishedAnalysis(turn.prompt.messages).kept });
}

test("the file has the expected number of chat cases", () => {
  expect(cases.length).toBe(17);
});

describe("a chat request becomes the prompt that the cases expect", () => {
  test.each(cases)("$id $note", ({ line, request, expected_text, expected_token_ids }) => {
    const prompt = promptOf(
      turnOf(memberText(line, "request") ?? "", { date: request?.current_date }),
    );
    expect(prompt.text().replaceAll("\u200b", "")).toBe(expected_text);
    expect(prompt.ids).toEqual(expected_token_ids);
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

describe("an invalid request is refused with the field's name", () => {
  test.each([
    ["no messages", {}, "messages"],
    ["empty messages", { messages: [] }, "messages"],
    ["messages of the wrong type", { messages: "hi" }, "messages"],
    ["a message without role", { messages: [{ content: "x" }] }, "messages[0].role"],
    ["an unknown role", { messages: [{ role: "robot", content: "x" }] }, "messages[0].role"],
    [
      "content of the wrong type",
      { messages: [{ role: "user", content: 3 }] },
      "messages[0].content",
    ],
    [
      "an image",
      { messages: [{ role: "user", content: [{ type: "image_url", image_url: { url: "x" } }] }] },
      "messages[0].content[0].type",
    ],
    [
      "a result for a call nobody made",
      { messages: [user, { role: "tool", tool_call_id: "nope", content: "x" }] },
      "messages[1].tool_call_id",
    ],
    [
      "a tool call without a function",
      { messages: [user, { role: "assistant", tool_calls: [{ id: "a" }] }] },
      "messages[1].tool_calls[0].function",
    ],
    ["a temperature as text", { messages: [user], temperature: "hot" }, "temperature"],
    ["a temperature out of range", { messages: [user], temperature: 3 }, "temperature"],
    ["max_tokens of zero", { messages: [user], max_tokens: 0 }, "max_tokens"],
    ["a stop string of 1,001 characters", { messages: [user], stop: "x".repeat(1_001) }, "stop"],
    ["one such among others", { messages: [user], stop: ["a", "x".repeat(1_001)] }, "stop[1]"],
    ["five stop strings", { messages: [user], stop: ["1", "2", "3", "4", "5"] }, "stop"],
    [
      "a tool without a name",
      { messages: [user], tools: [{ type: "function", function: {} }] },
      "tools[0].function.name",
    ],
    [
      "a tool name that would not fit a header",
      { messages: [user], tools: [tool("a b")] },
      "tools[0].function.name",
    ],
    ["two tools of one name", { messages: [user], tools: [tool("f"), tool("f")] }, "tools"],
    [
      "a choice of a tool that is not offered",
      {
        messages: [user],
        tools: [tool("f")],
        tool_choice: { type: "function", function: { name: "g" } },
      },
      "tool_choice.function.name",
    ],
    [
      "effort and budget at once",
      { messages: [user], reasoning: { effort: "low", max_tokens: 5 } },
      "reasoning.max_tokens",
    ],
    [
      "two efforts that differ",
      { messages: [user], reasoning: { effort: "low" }, reasoning_effort: "high" },
      "reasoning_effort",
    ],
    [
      "an effort that is no text",
      { messages: [user], reasoning: { effort: 3 } },
      "reasoning.effort",
    ],
    [
      "reasoning switched off with an effort",
      { messages: [user], reasoning: { enabled: false, effort: "low" } },
      "reasoning.enabled",
    ],
    ["an audio answer", { messages: [user], modalities: ["text", "audio"] }, "modalities[1]"],
    ["a legacy prompt", { messages: [user], prompt: "Once" }, "prompt"],
    [
      "alternatives without log probabilities",
      { messages: [user], top_logprobs: 3 },
      "top_logprobs",
    ],
    [
      "a bias for a control token",
      { messages: [user], logit_bias: { "200007": 100 } },
      "logit_bias.200007",
    ],
  ])("%s", (_, body, param) => {
    const error = thrownBy(() => turnFor(body));
    expect(error).toBeInstanceOf(RequestError);
    expect(error).toMatchObject({ status: 400, param, type: "invalid_request_error" });
  });

  test("a schema with a number no double can hold", () => {
    const body =
      '{"messages":[{"role":"user","content":"x"}],"tools":[{"type":"function","function":' +
      '{"name":"f","parameters":{"type":"object","properties":{"a":{"default":1e999}}}}}]}';
    expect(thrownBy(() => turnOf(body))).toMatchObject({ status: 400, param: "tools" });
  });
});

function thrownBy(action: () => unknown): unknown {
  try {
    action();
  } catch (error) {
    return error;
  }
  return undefined;
}

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
  ])("%s", (_, body) => {
    expect(turnFor(body).prompt.messages.length).toBeGreaterThan(1);
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
  ])("%s", (_, fields, expected) => {
    const turn = turnFor({
      messages: [
        user,
        { role: "assistant", content: null, tool_calls: [call("a")], ...fields },
        { role: "tool", tool_call_id: "a", content: "1" },
      ],
    });
    const analysis = turn.prompt.messages.filter((message) => message.channel === "analysis");
    expect(analysis.map((message) => message.content)).toEqual(
      expected === undefined ? [] : [expected],
    );
  });
});

test("restored reasoning keeps its original position", () => {
  const messages = [
    { role: "user", content: "Go." },
    {
      role: "assistant",
      content: "Wait.",
      tool_calls: ["a", "b"].map((id) => ({
        id,
        type: "function",
        function: { name: "f", arguments: "{}" },
      })),
    },
  ];
  const turn = turnOf(JSON.stringify({ messages }), {
    restored: new Map([
      [
        1,
        [
          { before: [["one"], ["two"]], after: [] },
          { before: [["three"]], after: ["four"] },
        ],
      ],
    ]),
  });
  const written = turn.prompt.messages.filter(({ role }) => role === "assistant");
  expect(written.map(({ content }) => content)).toEqual([
    "one",
    "Wait.",
    "two",
    "{}",
    "three",
    "{}",
    "four",
  ]);
});

test("a schema keeps the key order and the numbers of the request's text", () => {
  const turn = turnOf(
    '{"messages":[{"role":"user","content":"x"}],"tools":[{"type":"function","function":{"name":"f",' +
      '"parameters":{"type":"object","properties":{"b":{"type":"number","default":1.0},"2":{"type":"string"},"a":{"type":"string"}}}}}]}',
  );
  expect(promptOf(turn).text()).toContain(
    "type f = (_: {\nb?: number, // default: 1.0\n2?: string,\na?: string,\n}) => any;",
  );
});

test("a prefill is continued, not rendered as a finished answer", () => {
  const turn = turnFor({ messages: [user, { role: "assistant", content: "Once upon" }] });
  expect(turn.prefill).toBe("Once upon");
  expect(promptOf(turn).text()).toMatch(
    /<\|start\|>user<\|message\|>hi<\|end\|><\|start\|>assistant$/,
  );
});

test("legacy functions are offered like tools, and their results are matched by name", () => {
  const turn = turnFor({
    messages: [
      user,
      { role: "assistant", content: null, function_call: { name: "f", arguments: "{}" } },
      { role: "function", name: "f", content: "42" },
    ],
    functions: [{ name: "f", parameters: { type: "object", properties: {} } }],
    function_call: { name: "f" },
  });
  expect(turn.toolChoice).toEqual({ type: "required", names: ["f"] });
  expect(promptOf(turn).text()).toContain(
    "<|start|>functions.f to=assistant<|channel|>commentary<|message|>42<|end|>",
  );
});

test("allowed tools restrict the choice and leave the prompt as it is", () => {
  const body = { messages: [user], tools: [tool("f"), tool("g")] };
  const free = turnFor(body);
  const restricted = turnFor({
    ...body,
    tool_choice: {
      type: "allowed_tools",
      allowed_tools: { mode: "auto", tools: [{ type: "function", function: { name: "g" } }] },
    },
  });
  expect(restricted.toolChoice).toEqual({ type: "allowed", names: ["g"] });
  const toolsOf = (mode?: string | null) => ({
    type: "allowed_tools",
    allowed_tools: { mode, tools: [{ type: "function", function: { name: "g" } }] },
  });
  for (const [mode, expected] of [
    [undefined, { type: "allowed", names: ["g"] }],
    [null, { type: "allowed", names: ["g"] }],
    ["required", { type: "required", names: ["g"] }],
    ["none", { type: "none" }],
  ] as const) {
    expect(turnFor({ ...body, tool_choice: toolsOf(mode) }).toolChoice).toEqual(expected);
  }
  expect(promptOf(restricted).ids).toEqual(promptOf(free).ids);
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
])("a user's name %j stands in the header as %s", (name, author) => {
  const prompt = promptOf(turnFor({ messages: [{ ...user, name }] }));
  expect(prompt.text()).toContain(`<|start|>${author}<|message|>hi<|end|>`);
});
