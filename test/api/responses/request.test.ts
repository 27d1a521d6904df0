import { describe, expect, test } from "vitest";
import { scriptedEngine } from "../../helpers/scripted-engine.ts";
import { errorBody } from "./schemas.ts";
import { MODEL, responsesApp } from "./support.ts";

const HI = "<|channel|>final<|message|>Hi.<|return|>";
const TOOL = { type: "function", name: "f" };

async function refusal(body: object | string, settings: Record<string, unknown> = {}) {
  const engine = scriptedEngine([HI]);
  const app = responsesApp({ engine, settings });
  const request = typeof body === "string" ? body : { model: MODEL, input: "Hi.", ...body };
  const response = await app.send("POST", "/v1/responses", request);
  expect(engine.prompts).toEqual([]);
  const { error } = errorBody.parse(await response.json());
  return { status: response.status, ...error };
}

describe("an invalid request is refused with the field's name", () => {
  test.each<[string, object, string]>([
    ["a model that is no text", { model: 1 }, "model"],
    ["no input", { input: undefined }, "input"],
    ["empty input", { input: [] }, "input"],
    ["input of the wrong type", { input: 7 }, "input"],
    ["input that is an object", { input: { role: "user", content: "Hi." } }, "input"],
    ["an item that is no object", { input: ["Hi."] }, "input[0]"],
    ["an item that says nothing of itself", { input: [{ content: "Hi." }] }, "input[0].type"],
    ["an unknown role", { input: [{ role: "robot", content: "Hi." }] }, "input[0].role"],
    ["a message without content", { input: [{ role: "user" }] }, "input[0].content"],
    [
      "a part without type",
      { input: [{ role: "user", content: [{ text: "Hi." }] }] },
      "input[0].content[0].type",
    ],
    [
      "a call without call_id",
      { input: [{ type: "function_call", name: "f", arguments: "{}" }] },
      "input[0].call_id",
    ],
    [
      "arguments that are no text",
      { input: [{ type: "function_call", call_id: "c", name: "f", arguments: {} }] },
      "input[0].arguments",
    ],
    [
      "an output for a call nobody made",
      { input: [{ type: "function_call_output", call_id: "c", output: "x" }] },
      "input[0].call_id",
    ],
    [
      "an image",
      { input: [{ role: "user", content: [{ type: "input_image", image_url: "data:," }] }] },
      "input[0].content[0].type",
    ],
    [
      "a part nobody knows",
      { input: [{ role: "user", content: [{ type: "smell" }] }] },
      "input[0].content[0].type",
    ],
    ["a tool without name", { tools: [{ type: "function" }] }, "tools[0].name"],
    ["a tool name with a dot", { tools: [{ ...TOOL, name: "a.b" }] }, "tools[0].name"],
    ["a tool without type", { tools: [{ name: "f" }] }, "tools[0].type"],
    ["two tools of one name", { tools: [TOOL, TOOL] }, "tools"],
    [
      "required with tools that are all left out",
      { tools: [{ type: "web_search" }], tool_choice: "required" },
      "tool_choice",
    ],
    [
      "a choice of a tool that is not offered",
      { tools: [TOOL], tool_choice: { type: "function", name: "g" } },
      "tool_choice.name",
    ],
    [
      "a choice of a hosted tool",
      { tools: [TOOL], tool_choice: { type: "web_search" } },
      "tool_choice.type",
    ],
    [
      "an allowed tool that is not offered",
      {
        tools: [TOOL],
        tool_choice: { type: "allowed_tools", mode: "auto", tools: [{ ...TOOL, name: "g" }] },
      },
      "tool_choice.tools[0].name",
    ],
    [
      "a required call among tools that are left out",
      {
        tools: [TOOL],
        tool_choice: { type: "allowed_tools", mode: "required", tools: [{ type: "file_search" }] },
      },
      "tool_choice.tools",
    ],
    ["a choice that is none", { tool_choice: "sometimes" }, "tool_choice"],
    ["max_output_tokens below 16", { max_output_tokens: 15 }, "max_output_tokens"],
    ["a temperature out of range", { temperature: 2.1 }, "temperature"],
    ["top_logprobs out of range", { top_logprobs: 21 }, "top_logprobs"],
    ["an effort that is no text", { reasoning: { effort: 1 } }, "reasoning.effort"],
    [
      "an effort beside a budget",
      { reasoning: { effort: "low", max_tokens: 9 } },
      "reasoning.max_tokens",
    ],
    [
      "a format without schema",
      { text: { format: { type: "json_schema", name: "x" } } },
      "text.format.schema",
    ],
    ["an unknown format", { text: { format: { type: "xml" } } }, "text.format.type"],
    ["an unknown truncation", { truncation: "always" }, "truncation"],
    ["metadata that is no text", { metadata: { a: 1 } }, "metadata.a"],
    ["a long metadata value", { metadata: { a: "x".repeat(513) } }, "metadata.a"],
    [
      "too many metadata",
      { metadata: Object.fromEntries(Array.from({ length: 17 }, (_, n) => [`k${n}`, "v"])) },
      "metadata",
    ],
    ["a stored prompt", { prompt: { id: "pmpt_1" } }, "prompt"],
    ["a background nobody will find", { background: true, store: false }, "background"],
    [
      "two things to continue",
      { previous_response_id: "resp_1", conversation: "conv_1" },
      "conversation",
    ],
    ["stream of the wrong type", { stream: "yes" }, "stream"],
  ])("%s", async (_, body, param) => {
    expect(await refusal(body)).toMatchObject({
      status: 400,
      type: "invalid_request_error",
      param,
      code: null,
      message: expect.stringContaining(param),
    });
  });

  test.each([
    ["broken JSON", '{"model":'],
    ["no object", "[]"],
    ["nothing", ""],
  ])("%s", async (_, body) => {
    expect(await refusal(body)).toMatchObject({
      status: 400,
      type: "invalid_request_error",
      param: null,
      code: null,
    });
  });

  test.each([
    ["a model nobody serves", { model: "gpt-7" }, 404, "not_found", "model", "model_not_found"],
    [
      "a response nobody made",
      { previous_response_id: "resp_0" },
      400,
      "invalid_request_error",
      "previous_response_id",
      "previous_response_not_found",
    ],
    [
      "a conversation nobody began",
      { conversation: { id: "conv_0" } },
      404,
      "not_found",
      "conversation",
      "conversation_not_found",
    ],
    [
      "a reference to nothing",
      { input: [{ type: "item_reference", id: "rs_0_0" }] },
      404,
      "not_found",
      "input[0].id",
      "item_not_found",
    ],
    [
      "a summary sealed elsewhere",
      { input: [{ type: "compaction", encrypted_content: "x" }] },
      400,
      "invalid_request_error",
      "input[0].encrypted_content",
      "invalid_encrypted_content",
    ],
  ])("%s", async (_, body, status, type, param, code) => {
    expect(await refusal(body)).toMatchObject({ status, type, param, code });
  });

  test.each([
    ["a tool", { tools: [TOOL, { type: "web_search" }] }, "tools[1].type"],
    [
      "an item",
      {
        input: [
          { role: "user", content: "Hi." },
          { type: "file_search_call", id: "fs_1" },
        ],
      },
      "input[1].type",
    ],
    [
      "an allowed tool",
      {
        tools: [TOOL],
        tool_choice: { type: "allowed_tools", mode: "auto", tools: [{ type: "file_search" }] },
      },
      "tool_choice.tools[0].type",
    ],
  ])("%s of a hosted kind, if configured", async (_, body, param) => {
    expect(await refusal(body, { unsupportedTools: "refuse" })).toMatchObject({
      status: 400,
      param,
    });
  });

  test.each([
    [
      "items",
      { input: Array.from({ length: 3 }, () => ({ role: "user", content: "Hi." })) },
      "input",
    ],
    ["tools", { tools: ["f", "g", "h"].map((name) => ({ ...TOOL, name })) }, "tools"],
  ])("too many %s", async (_, body, param) => {
    expect(await refusal(body, { maxMessages: 2, maxTools: 2 })).toMatchObject({
      status: 400,
      param,
    });
  });

  test("a body that is too large", async () => {
    expect(await refusal({ input: "x".repeat(200) }, { maxBodyBytes: 100 })).toMatchObject({
      status: 413,
      type: "invalid_request_error",
      code: "payload_too_large",
    });
  });

  test("no key", async () => {
    expect(await refusal({}, { keys: [`a:${"0".repeat(64)}`] })).toMatchObject({
      status: 401,
      type: "authentication_error",
      code: "invalid_api_key",
    });
  });
});

describe("a request is echoed", () => {
  test("with defaults for what it leaves out", async () => {
    const app = responsesApp({ engine: scriptedEngine([HI]) });
    expect(await app.create({ input: "Hi." })).toEqual({
      id: expect.stringMatching(/^resp_/),
      object: "response",
      created_at: expect.any(Number),
      completed_at: expect.any(Number),
      status: "completed",
      incomplete_details: null,
      model: MODEL,
      previous_response_id: null,
      instructions: null,
      output: [
        {
          id: expect.stringMatching(/^msg_/),
          type: "message",
          status: "completed",
          role: "assistant",
          phase: "final_answer",
          content: [{ type: "output_text", text: "Hi.", annotations: [], logprobs: [] }],
        },
      ],
      error: null,
      tools: [],
      tool_choice: "auto",
      truncation: "disabled",
      parallel_tool_calls: true,
      text: { format: { type: "text" } },
      top_p: 1,
      presence_penalty: 0,
      frequency_penalty: 0,
      top_logprobs: 0,
      temperature: 1,
      reasoning: { effort: "medium", summary: null },
      usage: {
        input_tokens: expect.any(Number),
        input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
        output_tokens: 6,
        output_tokens_details: { reasoning_tokens: 0 },
        total_tokens: expect.any(Number),
      },
      max_output_tokens: null,
      max_tool_calls: null,
      store: true,
      background: false,
      service_tier: "default",
      metadata: {},
      safety_identifier: null,
      prompt_cache_key: null,
      access_programs: null,
    });
  });

  test("with the request's values, except skipped tools", async () => {
    const said = {
      instructions: "Be brief.",
      tool_choice: "auto",
      truncation: "auto",
      parallel_tool_calls: false,
      top_p: 0.5,
      presence_penalty: 0.25,
      frequency_penalty: -0.25,
      top_logprobs: 2,
      temperature: 0.75,
      reasoning: { effort: "high", summary: "auto" },
      max_output_tokens: 50,
      max_tool_calls: 3,
      store: false,
      metadata: { a: "b" },
      safety_identifier: "s",
      prompt_cache_key: "k",
      user: "u",
    };
    const json = '<|channel|>final<|message|>{"a":1}<|return|>';
    const app = responsesApp({ engine: scriptedEngine([json]) });
    const response = await app.create({
      input: "Hi.",
      ...said,
      tools: [
        { type: "web_search" },
        TOOL,
        {
          ...TOOL,
          name: "g",
          description: "Does it.",
          parameters: { type: "object" },
          strict: true,
        },
      ],
      text: { verbosity: "low", format: { type: "json_object" } },
      service_tier: "flex",
    });
    expect(response).toMatchObject({
      ...said,
      tools: [
        { type: "function", name: "f", description: null, parameters: null, strict: false },
        {
          type: "function",
          name: "g",
          description: "Does it.",
          parameters: { type: "object" },
          strict: true,
        },
      ],
      // The model has no such control, and there is one tier.
      text: { verbosity: "medium", format: { type: "json_object" } },
      service_tier: "default",
    });
    expect(app.logged).toContainEqual(
      expect.objectContaining({ event: "tools skipped", kinds: ["web_search"] }),
    );
  });

  test.each([
    { type: "function", name: "f" },
    { type: "allowed_tools", mode: "auto", tools: [{ type: "function", name: "f" }] },
  ])("with its tool choice", async (tool_choice) => {
    const forced = "Hm.<|end|>";
    const engine = scriptedEngine(tool_choice.type === "function" ? [forced, "{}<|call|>"] : [HI]);
    const response = await responsesApp({ engine }).create({
      input: "Hi.",
      tools: [TOOL],
      tool_choice,
    });
    expect(response).toMatchObject({ tool_choice, status: "completed" });
  });

  test("OpenRouter's fields of reasoning are those of Chat Completions", async () => {
    const long = `<|channel|>analysis<|message|>${"word ".repeat(40)}`;
    const engine = scriptedEngine([long, HI]);
    const response = await responsesApp({ engine }).create({
      input: "Hi.",
      reasoning: { max_tokens: 16 },
    });
    expect(engine.prompts[0]).toContain("Reasoning: low");
    expect(response).toMatchObject({
      reasoning: { effort: "low" },
      usage: { output_tokens_details: { reasoning_tokens: 16 } },
    });
    const off = scriptedEngine(["Hello.<|return|>"]);
    await responsesApp({ engine: off }).create({ input: "Hi.", reasoning: { enabled: false } });
    expect(off.prompts[0]).toMatch(/<\|channel\|>final<\|message\|>$/);
  });

  test("unknown fields and nulls are ignored", async () => {
    const app = responsesApp({ engine: scriptedEngine([HI]) });
    const nulls = Object.fromEntries(
      [
        "tools",
        "tool_choice",
        "reasoning",
        "text",
        "metadata",
        "include",
        "store",
        "truncation",
      ].map((name) => [name, null]),
    );
    const response = await app.create({ input: "Hi.", ...nulls, vendor: { x: 1 }, top_k: "no" });
    expect(response.status).toBe("completed");
  });
});
