/** Invalid bodies, and the exact message with which each is refused. */
import { expect, test } from "vitest";
import { z } from "zod";
import { createBrowsingApp, MODEL } from "../helpers/browsing-app.ts";
import { scriptedEngine } from "../helpers/scripted-engine.ts";

const { post } = createBrowsingApp({ engine: scriptedEngine([]), toolbox: {} });
const refusal = z.object({
  error: z.object({ param: z.string().nullable(), message: z.string() }),
});

async function refusalOf(path: string, body: object) {
  const response = await post(path, body);
  expect(response.status).toBe(400);
  return refusal.parse(await response.json()).error;
}

/** [param, what is wrong beside a body that is right, the sentence behind the param] */
const CHAT_COMPLETIONS: readonly (readonly [string, object, string])[] = [
  ["messages", { messages: null }, "must be an array, but it is null"],
  ["messages", { messages: "hi" }, 'must be an array, but it is "hi"'],
  ["messages", { messages: [] }, "must contain at least one message, but it is an empty array"],
  ["messages[0]", { messages: ["hi"] }, 'must be an object, but it is "hi"'],
  [
    "messages[0].role",
    { messages: [{}] },
    'must be "system", "developer", "user", "assistant", "tool" or "function", but it is missing',
  ],
  [
    "messages[0].role",
    { messages: [{ role: "robot", content: "x" }] },
    'must be "system", "developer", "user", "assistant", "tool" or "function", but it is "robot"',
  ],
  [
    "messages[0].content",
    { messages: [{ role: "user", content: 5 }] },
    "must be a string or an array of content parts, but it is 5",
  ],
  [
    "messages[0].content[0].type",
    { messages: [{ role: "user", content: [{ text: "x" }] }] },
    "must be a string, but it is missing",
  ],
  [
    "messages[0].content[0].text",
    { messages: [{ role: "user", content: [{ type: "text", text: 5 }] }] },
    "must be a string, but it is 5",
  ],
  [
    "messages[0].tool_call_id",
    { messages: [{ role: "tool", content: "x" }] },
    "must be a string, but it is missing",
  ],
  [
    "messages[0].tool_calls",
    { messages: [{ role: "assistant", tool_calls: {} }] },
    "must be an array, but it is an object",
  ],
  [
    "messages[0].tool_calls[0].id",
    { messages: [{ role: "assistant", tool_calls: [{ type: "function" }] }] },
    "must be a string, but it is missing",
  ],
  [
    "messages[0].tool_calls[0].function.name",
    { messages: [{ role: "assistant", tool_calls: [{ id: "a", function: { arguments: "{}" } }] }] },
    "must be a string, but it is missing",
  ],
  [
    "messages[0].tool_calls[0].function.arguments",
    {
      messages: [
        { role: "assistant", tool_calls: [{ id: "a", function: { name: "f", arguments: {} } }] },
      ],
    },
    "must be a string, but it is an object",
  ],
  [
    "messages[0].reasoning_details",
    { messages: [{ role: "assistant", reasoning_details: 5 }] },
    "must be a string or an array, but it is 5",
  ],
  [
    "messages[0].name",
    { messages: [{ role: "function", content: "x" }] },
    "must be a string, but it is missing",
  ],
  ["messages[0].name", { messages: [{ role: "user", name: 5 }] }, "must be a string, but it is 5"],
  ["temperature", { temperature: "hot" }, 'must be a number, but it is "hot"'],
  ["temperature", { temperature: 3 }, "must be at most 2, but it is 3"],
  ["temperature", { temperature: -1 }, "must be at least 0, but it is -1"],
  ["top_p", { top_p: 1.5 }, "must be at most 1, but it is 1.5"],
  ["top_k", { top_k: 1.5 }, "must be an integer, but it is 1.5"],
  ["repetition_penalty", { repetition_penalty: 0 }, "must be more than 0, but it is 0"],
  ["max_tokens", { max_tokens: 0 }, "must be at least 1, but it is 0"],
  ["max_completion_tokens", { max_completion_tokens: "10" }, 'must be a number, but it is "10"'],
  ["seed", { seed: 1e300 }, "must be an integer that a double can represent, but it is 1e+300"],
  [
    "stop",
    { stop: ["a", "b", "c", "d", "e"] },
    "must hold at most 4 items, but it is an array of 5",
  ],
  ["stop", { stop: 5 }, "must be a string or an array, but it is 5"],
  ["stop[0]", { stop: [1] }, "must be a string, but it is 1"],
  ["n", { n: 0 }, "must be at least 1, but it is 0"],
  ["n", { n: 129 }, "must be at most 128, but it is 129"],
  ["stream", { stream: "yes" }, 'must be true or false, but it is "yes"'],
  ["logprobs", { logprobs: 1 }, "must be true or false, but it is 1"],
  ["top_logprobs", { top_logprobs: 21 }, "must be at most 20, but it is 21"],
  [
    "logit_bias.hello",
    { logit_bias: { hello: 1 } },
    'must be the id of an ordinary token, below 199998, but it is "hello"',
  ],
  [
    "logit_bias.200007",
    { logit_bias: { "200007": 1 } },
    'must be the id of an ordinary token, below 199998, but it is "200007"',
  ],
  ["logit_bias.5", { logit_bias: { "5": 200 } }, "must be at most 100, but it is 200"],
  ["tools", { tools: {} }, "must be an array, but it is an object"],
  [
    "tools[0].type",
    { tools: [{ function: { name: "f" } }] },
    'must be "function" or "custom", but it is missing',
  ],
  ["tools[0].function", { tools: [{ type: "function" }] }, "must be an object, but it is missing"],
  [
    "tools[0].function.name",
    { tools: [{ type: "function", function: { name: "not a name" } }] },
    'must be 1 to 128 letters, digits, underscores, dots or dashes, but it is "not a name"',
  ],
  [
    "tools[0].function.parameters",
    { tools: [{ type: "function", function: { name: "f", parameters: "x" } }] },
    'must be an object, but it is "x"',
  ],
  [
    "tools[0].custom.name",
    { tools: [{ type: "custom", custom: {} }] },
    "must be a string, but it is missing",
  ],
  [
    "tool_choice",
    { tool_choice: "maybe" },
    'must be "none", "auto", "required", a named tool or allowed_tools, but it is "maybe"',
  ],
  [
    "tool_choice",
    { tool_choice: 5 },
    'must be "none", "auto", "required", a named tool or allowed_tools, but it is 5',
  ],
  [
    "tool_choice.type",
    { tool_choice: {} },
    'must be "function", "custom" or "allowed_tools", but it is missing',
  ],
  [
    "tool_choice.function",
    { tool_choice: { type: "function" } },
    "must be an object, but it is missing",
  ],
  [
    "tool_choice.function.name",
    { tool_choice: { type: "function", function: {} } },
    "must be a string, but it is missing",
  ],
  [
    "tool_choice.custom",
    { tool_choice: { type: "custom" } },
    "must be an object, but it is missing",
  ],
  [
    "tool_choice.allowed_tools",
    { tool_choice: { type: "allowed_tools" } },
    "must be an object, but it is missing",
  ],
  [
    "tool_choice.allowed_tools.mode",
    { tool_choice: { type: "allowed_tools", allowed_tools: { mode: "never", tools: [] } } },
    'must be "none", "auto" or "required", but it is "never"',
  ],
  [
    "tool_choice.allowed_tools.tools",
    { tool_choice: { type: "allowed_tools", allowed_tools: { tools: [] } } },
    "must hold at least 1 item, but it is an empty array",
  ],
  [
    "tool_choice.allowed_tools.tools[0].function",
    { tool_choice: { type: "allowed_tools", allowed_tools: { tools: [{ type: "function" }] } } },
    "must be an object, but it is missing",
  ],
  ["function_call.name", { function_call: {} }, "must be a string, but it is missing"],
  [
    "function_call",
    { function_call: "f" },
    'must be "none", "auto" or an object with a name, but it is "f"',
  ],
  ["response_format", { response_format: "json" }, 'must be an object, but it is "json"'],
  [
    "response_format.type",
    { response_format: { type: "xml" } },
    'must be "text", "json_object" or "json_schema", but it is "xml"',
  ],
  [
    "response_format.json_schema",
    { response_format: { type: "json_schema" } },
    "must be an object, but it is missing",
  ],
  [
    "response_format.json_schema.name",
    { response_format: { type: "json_schema", json_schema: { schema: {} } } },
    "must be a string, but it is missing",
  ],
  [
    "response_format.json_schema.schema",
    { response_format: { type: "json_schema", json_schema: { name: "x", schema: "y" } } },
    'must be an object, but it is "y"',
  ],
  ["reasoning", { reasoning: "high" }, 'must be an object, but it is "high"'],
  [
    "reasoning_effort",
    { reasoning_effort: 3 },
    'must be "none", "minimal", "low", "medium", "high", "xhigh" or "max" or a string, but it is 3',
  ],
  ["reasoning.max_tokens", { reasoning: { max_tokens: -1 } }, "must be at least 0, but it is -1"],
  ["modalities", { modalities: "text" }, 'must be an array, but it is "text"'],
  ["stream_options", { stream_options: true }, "must be an object, but it is true"],
  ["models[1]", { models: ["a", 1] }, "must be a string, but it is 1"],
  [
    "stop[0]",
    { stop: ["x".repeat(1001)] },
    "must have at most 1000 characters, but it is a string of 1001 characters",
  ],
  [
    "messages[1]",
    { messages: [{ role: "user", content: "hi" }, 5] },
    "must be an object, but it is 5",
  ],
];

test.each(CHAT_COMPLETIONS)("Chat Completions: %s in %j", async (param, wrong, sentence) => {
  const body = { model: MODEL, messages: [{ role: "user", content: "hi" }], ...wrong };
  const message = `${param}: ${sentence}`;
  expect(await refusalOf("/v1/chat/completions", body)).toEqual({ param, message });
});

/** [param, what is wrong beside a body that is right, the sentence behind the param] */
const RESPONSES: readonly (readonly [string, object, string])[] = [
  ["model", { model: 5 }, "must be a string, but it is 5"],
  ["model", { model: 5 }, "must be a string, but it is 5"],
  ["input", { input: 5 }, "must be a string or an array of items, but it is 5"],
  ["input[0]", { input: [5] }, "must be an object, but it is 5"],
  [
    "input[0].type",
    { input: [{}] },
    'must be "message", "reasoning", "function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output", "tool_search_call", "tool_search_output", "additional_tools", "configuration_update", "item_reference" or "compaction", but it is missing',
  ],
  [
    "input[0].role",
    { input: [{ type: "message" }] },
    'must be "user", "assistant", "system" or "developer", but it is missing',
  ],
  [
    "input[0].role",
    { input: [{ role: "robot", content: "x" }] },
    'must be "user", "assistant", "system" or "developer", but it is "robot"',
  ],
  [
    "input[0].content",
    { input: [{ role: "user" }] },
    "must be a string or an array of content parts, but it is missing",
  ],
  [
    "input[0].content[0].type",
    { input: [{ role: "user", content: [{ text: "x" }] }] },
    "must be a string, but it is missing",
  ],
  [
    "input[0].call_id",
    { input: [{ type: "function_call", name: "f", arguments: "{}" }] },
    "must be a string, but it is missing",
  ],
  [
    "input[0].arguments",
    { input: [{ type: "function_call", call_id: "c", name: "f", arguments: {} }] },
    "must be a string, but it is an object",
  ],
  [
    "input[0].output",
    { input: [{ type: "function_call_output", call_id: "c" }] },
    "must be a string or an array of content parts, but it is missing",
  ],
  [
    "input[0].call_id",
    { input: [{ type: "function_call_output", call_id: "", output: "x" }] },
    'must have at least 1 character, but it is ""',
  ],
  ["input[0].id", { input: [{ type: "item_reference" }] }, "must be a string, but it is missing"],
  ["input[0].id", { input: [{ id: 5 }] }, "must be a string, but it is 5"],
  [
    "input[0].summary",
    { input: [{ type: "reasoning", summary: "x" }] },
    'must be an array, but it is "x"',
  ],
  [
    "input[0].type",
    { input: [{ type: 5 }] },
    'must be "message", "reasoning", "function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output", "tool_search_call", "tool_search_output", "additional_tools", "configuration_update", "item_reference" or "compaction", but it is 5',
  ],
  ["instructions", { instructions: 5 }, "must be a string, but it is 5"],
  ["previous_response_id", { previous_response_id: 5 }, "must be a string, but it is 5"],
  ["conversation", { conversation: 5 }, "must be a string or an object, but it is 5"],
  ["conversation.id", { conversation: {} }, "must be a string, but it is missing"],
  ["tools", { tools: "f" }, 'must be an array, but it is "f"'],
  [
    "tools[0].type",
    { tools: [{}] },
    'must be "function", "custom" or "namespace", but it is missing',
  ],
  ["tools[0].name", { tools: [{ type: "function" }] }, "must be a string, but it is missing"],
  [
    "tools[0].name",
    { tools: [{ type: "function", name: "a b" }] },
    'must be 1 to 64 letters, digits, underscores or dashes, but it is "a b"',
  ],
  [
    "tools[0].parameters",
    { tools: [{ type: "function", name: "f", parameters: [] }] },
    "must be an object, but it is an empty array",
  ],
  [
    "tool_choice",
    { tool_choice: "f" },
    'must be "none", "auto", "required", a function or allowed_tools, but it is "f"',
  ],
  [
    "tool_choice",
    { tool_choice: 5 },
    'must be "none", "auto", "required", a function or allowed_tools, but it is 5',
  ],
  [
    "tool_choice.type",
    { tool_choice: {} },
    'must be "function", "custom" or "allowed_tools", but it is missing',
  ],
  [
    "tool_choice.name",
    { tool_choice: { type: "function" } },
    "must be a string, but it is missing",
  ],
  [
    "tool_choice.tools",
    { tool_choice: { type: "allowed_tools" } },
    "must be an array, but it is missing",
  ],
  [
    "tool_choice.tools",
    { tool_choice: { type: "allowed_tools", tools: [] } },
    "must hold at least 1 item, but it is an empty array",
  ],
  [
    "tool_choice.mode",
    {
      tool_choice: {
        type: "allowed_tools",
        mode: "never",
        tools: [{ type: "function", name: "f" }],
      },
    },
    'must be "none", "auto" or "required", but it is "never"',
  ],
  [
    "tool_choice.tools[0].type",
    { tool_choice: { type: "allowed_tools", tools: [{ name: "f" }] } },
    "must be a string, but it is missing",
  ],
  [
    "reasoning.effort",
    { reasoning: { effort: 1 } },
    'must be "none", "minimal", "low", "medium", "high", "xhigh" or "max" or a string, but it is 1',
  ],
  [
    "reasoning.summary",
    { reasoning: { summary: 1 } },
    'must be "auto", "concise" or "detailed" or a string, but it is 1',
  ],
  ["reasoning", { reasoning: "high" }, 'must be an object, but it is "high"'],
  ["text", { text: "x" }, 'must be an object, but it is "x"'],
  ["text.format", { text: { format: "json" } }, 'must be an object, but it is "json"'],
  [
    "text.format.type",
    { text: { format: { type: "xml" } } },
    'must be "text", "json_object" or "json_schema", but it is "xml"',
  ],
  [
    "text.format.schema",
    { text: { format: { type: "json_schema" } } },
    "must be an object, but it is missing",
  ],
  [
    "text.format.name",
    { text: { format: { type: "json_schema", name: "", schema: {} } } },
    'must have at least 1 character, but it is ""',
  ],
  ["text.verbosity", { text: { verbosity: 2 } }, "must be a string, but it is 2"],
  ["truncation", { truncation: "maybe" }, 'must be "auto" or "disabled", but it is "maybe"'],
  ["max_output_tokens", { max_output_tokens: 5 }, "must be at least 16, but it is 5"],
  ["max_output_tokens", { max_output_tokens: "many" }, 'must be a number, but it is "many"'],
  ["max_tool_calls", { max_tool_calls: 0 }, "must be at least 1, but it is 0"],
  ["temperature", { temperature: 9 }, "must be at most 2, but it is 9"],
  ["top_logprobs", { top_logprobs: 1.5 }, "must be an integer, but it is 1.5"],
  ["include", { include: "x" }, 'must be an array, but it is "x"'],
  ["include[0]", { include: [5] }, "must be a string, but it is 5"],
  ["metadata.a", { metadata: { a: 5 } }, "must be a string, but it is 5"],
  ["metadata", { metadata: "x" }, 'must be an object, but it is "x"'],
  ["stream", { stream: 1 }, "must be true or false, but it is 1"],
  ["store", { store: "no" }, 'must be true or false, but it is "no"'],
  ["background", { background: "yes" }, 'must be true or false, but it is "yes"'],
  ["user", { user: {} }, "must be a string, but it is an object"],
  [
    "text.format.name",
    { text: { format: { type: "json_schema", name: 5, schema: {} } } },
    "must be a string, but it is 5",
  ],
  [
    "input[1].content[0].text",
    {
      input: [
        { role: "user", content: "a" },
        { role: "user", content: [{ type: "input_text", text: [] }] },
      ],
    },
    "must be a string, but it is an empty array",
  ],
  [
    `metadata.${"k".repeat(40)}…`,
    { metadata: { ["k".repeat(65)]: "x" } },
    "must have at most 64 characters, but it is a string of 65 characters",
  ],
];

test.each(RESPONSES)("Responses: %s in %j", async (param, wrong, sentence) => {
  const message = `${param}: ${sentence}`;
  const body = { model: MODEL, input: "hi", ...wrong };
  expect(await refusalOf("/v1/responses", body)).toEqual({ param, message });
});

test("a long string is not quoted", async () => {
  const { message } = await refusalOf("/v1/chat/completions", { messages: "secret ".repeat(20) });
  expect(message).toBe("messages: must be an array, but it is a string of 140 characters");
});
