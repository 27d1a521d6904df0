/** The search for deferred tools on all APIs: replies that the vendors' clients read, and the next request with them in its history. */
import type { ToolUnion } from "@anthropic-ai/sdk/resources/messages";
import type { ResponseInputItem } from "openai/resources/responses/responses";
import type { ChatCompletionTool } from "openai/resources/chat/completions";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { createBrowsingApp, MODEL } from "../helpers/browsing-app.ts";
import { createMcpApp } from "../helpers/mcp-app.ts";
import { LOOKUP, startMcpServer } from "../helpers/mcp-server.ts";
import { readChatMessage } from "../helpers/replies.ts";
import { scriptedEngine, type ScriptedEngine } from "../helpers/scripted-engine.ts";

const WEATHER = {
  name: "get_weather",
  description: "Forecast and temperature of a city.",
  parameters: {
    type: "object",
    properties: { city: { type: "string", description: "The city" } },
    required: ["city"],
  },
} as const;
const OTHERS = ["send_mail", "list_orders", "convert_currency"].map((name) => ({
  name,
  description: `Can ${name.replace("_", " ")}.`,
  parameters: { type: "object", properties: {} } as const,
}));
const SHOWN = {
  name: "shown_tool",
  description: "Always there.",
  parameters: { type: "object", properties: {} },
} as const;
const ALL = [WEATHER, ...OTHERS];

const ASK = "What is the weather in Paris?";
const SEARCH =
  "<|channel|>analysis<|message|>I need a tool.<|end|><|start|>assistant to=functions.tool_search<|channel|>commentary <|constrain|>json<|message|>" +
  '{"query":"weather forecast"}<|call|>';
const CALL =
  "<|channel|>analysis<|message|>There it is.<|end|><|start|>assistant to=functions.get_weather<|channel|>commentary <|constrain|>json<|message|>" +
  '{"city":"Paris"}<|call|>';
const ANSWER = "<|channel|>final<|message|>It is sunny.<|return|>";
const DEFINITION = "// Forecast and temperature of a city.";

function loop(): ScriptedEngine {
  return scriptedEngine([SEARCH, CALL, ANSWER], { batch: 8 });
}

/** Each prompt begins with the one before: its cached prefix is used. */
function expectGrowing({ prompts }: ScriptedEngine): void {
  for (const [index, prompt] of prompts.slice(1).entries()) {
    expect(prompt.startsWith(prompts[index] ?? "?")).toBe(true);
  }
}

function expectLoop(engine: ScriptedEngine): void {
  const [first = "", second = "", third = ""] = engine.prompts;
  expect(first).toContain("Searches 4 further tools");
  expect(first).toContain(SHOWN.description);
  expect(first).not.toContain(DEFINITION);
  expect(second.slice(first.length)).toContain("Tools found: functions.get_weather");
  expect(second.split(DEFINITION)).toHaveLength(2);
  expect(second).not.toContain("Can send mail.");
  expect(third.slice(second.length)).toContain("sunny");
  expect(third.split(DEFINITION)).toHaveLength(2);
  expectGrowing(engine);
}

describe("Responses", () => {
  const tools = [
    { type: "tool_search" as const },
    { type: "function" as const, ...SHOWN, strict: false },
    ...ALL.map((tool) => ({
      type: "function" as const,
      ...tool,
      strict: false,
      defer_loading: true,
    })),
  ];
  const FOUND = { ...WEATHER, type: "function", strict: false, defer_loading: true };

  test("without a store: the client sends the items back", async () => {
    const engine = loop();
    const { client } = createBrowsingApp({ engine });
    const first = await client.responses.create({ model: MODEL, input: ASK, tools, store: false });
    expect(first.output.map(({ type }) => type)).toEqual([
      "reasoning",
      "tool_search_call",
      "tool_search_output",
      "reasoning",
      "function_call",
    ]);
    const [, search, found, , call] = first.output;
    expect(search).toMatchObject({
      id: expect.stringMatching(/^tsc_/),
      status: "completed",
      execution: "server",
      call_id: null,
      arguments: { query: "weather forecast" },
    });
    expect(found).toMatchObject({ execution: "server", call_id: null, tools: [FOUND] });
    if (call?.type !== "function_call") throw new Error("no call");
    const output = {
      type: "function_call_output" as const,
      call_id: call.call_id,
      output: "sunny",
    };
    const ask = { role: "user" as const, content: ASK };
    const input = [ask, ...z.array(z.custom<ResponseInputItem>()).parse(first.output), output];
    const second = await client.responses.create({ model: MODEL, input, tools, store: false });
    expect(second.output_text).toBe("It is sunny.");
    expectLoop(engine);
  });

  test("by the id of the response before, streamed", async () => {
    const engine = loop();
    const { client } = createBrowsingApp({ engine });
    const first = await client.responses
      .stream({ model: MODEL, input: ASK, tools })
      .finalResponse();
    const [, search, found, , call] = first.output;
    expect(search).toMatchObject({ type: "tool_search_call", execution: "server" });
    expect(found).toMatchObject({ type: "tool_search_output", tools: [FOUND] });
    if (call?.type !== "function_call") throw new Error("no call");
    await client.responses.create({
      model: MODEL,
      previous_response_id: first.id,
      input: [{ type: "function_call_output", call_id: call.call_id, output: "sunny" }],
      tools,
    });
    expectLoop(engine);
    expect(JSON.stringify(await client.responses.retrieve(first.id))).not.toContain("harmony");
  });

  test("a client that stops declaring a found tool still has it", async () => {
    const engine = loop();
    const { client } = createBrowsingApp({ engine });
    const first = await client.responses.create({ model: MODEL, input: ASK, tools });
    const call = first.output.at(-1);
    if (call?.type !== "function_call") throw new Error("no call");
    await client.responses.create({
      model: MODEL,
      previous_response_id: first.id,
      input: [{ type: "function_call_output", call_id: call.call_id, output: "sunny" }],
      tools: tools.slice(0, 2),
    });
    expect(engine.prompts.at(-1)?.split(DEFINITION)).toHaveLength(2);
  });

  test("tools of a namespace are found with it", async () => {
    const search =
      "<|start|>assistant to=functions.tool_search<|channel|>commentary <|constrain|>json<|message|>";
    const engine = scriptedEngine([
      `${search.replace("<|start|>assistant", "")}{"query":"invoice"}<|call|>`,
      ANSWER,
    ]);
    const { client } = createBrowsingApp({ engine });
    const members = [
      { ...SHOWN, name: "list_invoices", description: "Invoices of a customer." },
      { ...SHOWN, name: "find_customer", description: "By name." },
    ].map((each) => ({ type: "function" as const, ...each, defer_loading: true, strict: false }));
    const crm = {
      type: "namespace" as const,
      name: "crm",
      description: "Customers",
      tools: members,
    };
    const { output } = await client.responses.create({
      model: MODEL,
      input: ASK,
      tools: [{ type: "tool_search" }, crm],
    });
    expect(engine.prompts[0]).toContain("- crm: Customers");
    expect(output[1]).toMatchObject({
      type: "tool_search_output",
      tools: [{ type: "namespace", name: "crm", tools: [members[0]] }],
    });
    expect(engine.prompts[1]).toContain("namespace crm");
    expect(engine.prompts[1]).not.toContain("find_customer");
  });
});

describe("Messages", () => {
  const SHOWN_TOOL = { ...toTool(SHOWN) };
  const DEFERRED = ALL.map((tool) => ({ ...toTool(tool), defer_loading: true }));

  function toTool({ parameters, ...tool }: (typeof ALL)[number] | typeof SHOWN) {
    return { ...tool, input_schema: parameters as { type: "object" } };
  }

  test.each(["tool_search_tool_bm25", "tool_search_tool_regex"] as const)("%s", async (name) => {
    const engine = loop();
    const { anthropic } = createBrowsingApp({ engine });
    const type = `${name}_20251119` as const;
    const tools = z.array(z.custom<ToolUnion>()).parse([{ type, name }, SHOWN_TOOL, ...DEFERRED]);
    const ask = { role: "user" as const, content: ASK };
    const first = await anthropic.messages
      .stream({ model: MODEL, max_tokens: 1000, messages: [ask], tools })
      .finalMessage();
    const use = first.content.find((block) => block.type === "server_tool_use");
    expect(use).toMatchObject({ name, input: { query: "weather forecast" } });
    expect(first.content.find((block) => block.type === "tool_search_tool_result")).toEqual({
      type: "tool_search_tool_result",
      tool_use_id: use?.id,
      content: {
        type: "tool_search_tool_search_result",
        tool_references: [{ type: "tool_reference", tool_name: "get_weather" }],
      },
    });
    const call = first.content.find((block) => block.type === "tool_use");
    const result = { type: "tool_result" as const, tool_use_id: call?.id ?? "", content: "sunny" };
    const messages = [
      ask,
      { role: "assistant" as const, content: first.content },
      { role: "user" as const, content: [result] },
    ];
    const second = await anthropic.messages.create({
      model: MODEL,
      max_tokens: 1000,
      messages,
      tools,
    });
    expect(second.content.at(-1)).toMatchObject({ type: "text", text: "It is sunny." });
    expectLoop(engine);
  });

  test("a search of the client beside it: what it found is defined behind its result", async () => {
    const engine = scriptedEngine([ANSWER, ANSWER]);
    const { post } = createBrowsingApp({ engine });
    const messages = [
      { role: "user", content: ASK },
      {
        role: "assistant",
        content: [{ type: "tool_use", id: "a", name: "shown_tool", input: {} }],
      },
    ];
    const search = { type: "tool_search_tool_bm25", name: "tool_search_tool_bm25" };
    const tools = [search, SHOWN_TOOL, ...DEFERRED];
    const reference = { type: "tool_reference", tool_name: "get_weather" };
    const result = { type: "tool_result", tool_use_id: "a", content: [reference] };
    const found = [...messages, { role: "user", content: [result] }];
    for (const sent of [messages.slice(0, 1), found]) {
      const body = { model: MODEL, max_tokens: 10, messages: sent, tools };
      expect((await post("/v1/messages", body)).status).toBe(200);
    }
    const [first = "", second = ""] = engine.prompts;
    expect(first).not.toContain(DEFINITION);
    expect(second.startsWith(first.replace(/<\|start\|>assistant$/, ""))).toBe(true);
    expect(second.indexOf(DEFINITION)).toBeGreaterThan(second.indexOf("Loaded tool: get_weather"));
  });
});

describe("Chat Completions", () => {
  const tools = [
    { type: "openrouter:tool_search", parameters: { max_results: 3 } },
    { type: "function", function: SHOWN },
    ...ALL.map((tool) => ({ type: "function", function: tool, defer_loading: true })),
  ];

  test("openrouter:tool_search", async () => {
    const engine = loop();
    const { client } = createBrowsingApp({ engine });
    const request = { model: MODEL, tools: z.array(z.custom<ChatCompletionTool>()).parse(tools) };
    const ask = { role: "user" as const, content: ASK };
    const first = await client.chat.completions.create({ ...request, messages: [ask] });
    const [message] = first.choices.map((choice) => choice.message);
    if (message === undefined) throw new Error("no message");
    const [call] = message.tool_calls ?? [];
    expect(call).toMatchObject({ function: { name: "get_weather" } });
    const result = { role: "tool" as const, tool_call_id: call?.id ?? "", content: "sunny" };
    const second = await client.chat.completions.create({
      ...request,
      messages: [ask, message, result],
    });
    expect(second.choices[0]?.message.content).toBe("It is sunny.");
    expectLoop(engine);
  });

  test("a call without a search is the client's, and the next prompt defines the tool", async () => {
    const engine = scriptedEngine([CALL, ANSWER]);
    const { post } = createBrowsingApp({ engine });
    const messages: unknown[] = [{ role: "user", content: ASK }];
    const first = await post("/v1/chat/completions", { model: MODEL, messages, tools });
    const message = await readChatMessage(first);
    const id = message.tool_calls?.[0]?.id;
    messages.push(message, { role: "tool", tool_call_id: id, content: "x" });
    await post("/v1/chat/completions", { model: MODEL, messages, tools });
    expect(engine.prompts[1]?.split(DEFINITION)).toHaveLength(2);
    expectGrowing(engine);
  });

  test("a client's own result of a search defines a tool once, however often it is named", async () => {
    const engine = scriptedEngine([ANSWER]);
    const { post } = createBrowsingApp({ engine });
    const named = Array.from({ length: 150_000 }, () => "functions.get_weather").join(", ");
    const call = { id: "1", type: "function", function: { name: "tool_search", arguments: "{}" } };
    const messages = [
      { role: "user", content: ASK },
      { role: "assistant", tool_calls: [call] },
      { role: "tool", tool_call_id: "1", content: `Tools found: ${named}` },
    ];
    const reply = await post("/v1/chat/completions", { model: MODEL, messages, tools });
    expect(reply.status).toBe(200);
    expect(engine.prompts[0]?.split(DEFINITION)).toHaveLength(2);
  });

  test.each(['{"query":""}', "{}", "", "not json", '{"query":"xyzzy"}', '{"query":7}'])(
    "the query %j finds nothing, and the model goes on",
    async (body) => {
      const engine = scriptedEngine([SEARCH.replace('{"query":"weather forecast"}', body), ANSWER]);
      const { post } = createBrowsingApp({ engine });
      const messages = [{ role: "user", content: ASK }];
      const reply = await post("/v1/chat/completions", { model: MODEL, messages, tools });
      expect(reply.status).toBe(200);
      expect(engine.prompts[1]).toContain("No tools were found.");
    },
  );

  test("searches count as calls of the gateway's tools", async () => {
    const engine = scriptedEngine([SEARCH, SEARCH, ANSWER]);
    const { post } = createBrowsingApp({ engine });
    const messages = [{ role: "user", content: ASK }];
    const body = { model: MODEL, messages, tools, max_tool_calls: 1 };
    expect((await post("/v1/chat/completions", body)).status).toBe(200);
    expect(engine.prompts[2]).toContain("no more tool calls are available");
    // A function that is defined once is not defined again.
    expect(engine.prompts[2]?.split(DEFINITION)).toHaveLength(2);
  });

  test("a deferred tool that the request names is defined at the end", async () => {
    const engine = scriptedEngine([CALL]);
    const { post } = createBrowsingApp({ engine });
    const reply = await post("/v1/chat/completions", {
      model: MODEL,
      messages: [{ role: "user", content: ASK }],
      tools,
      tool_choice: { type: "function", function: { name: "get_weather" } },
    });
    expect(reply.status).toBe(200);
    const [prompt = ""] = engine.prompts;
    expect(prompt.indexOf(DEFINITION)).toBeGreaterThan(prompt.indexOf(ASK));
  });

  test("a required call begins with a search if every tool is deferred", async () => {
    const engine = scriptedEngine(['{"query":"weather"}<|call|>', CALL]);
    const { post } = createBrowsingApp({ engine });
    const reply = await post("/v1/chat/completions", {
      model: MODEL,
      messages: [{ role: "user", content: ASK }],
      tools: tools.filter((tool) => !("function" in tool) || tool.function !== SHOWN),
      tool_choice: "required",
    });
    expect(await reply.text()).toContain('"name":"get_weather"');
  });
});

test("a deferred MCP server: found, run, and found again in the next request", async () => {
  const { url, calls } = await startMcpServer();
  const search = SEARCH.replace("weather forecast", "look up");
  const look =
    ' to=words.look_up<|channel|>commentary <|constrain|>json<|message|>{"word":"cat"}<|call|>';
  const engine = scriptedEngine([search, look, ANSWER, look, ANSWER]);
  const settings = { mcpServers: { words: { url, description: "A dictionary" } } };
  const { client } = createMcpApp({ engine, settings });
  const words = { type: "mcp", server_label: "words", require_approval: "never" } as const;
  const tools = [{ type: "tool_search" as const }, { ...words, defer_loading: true }];
  const first = await client.responses.create({ model: MODEL, input: ASK, tools });
  expect(first.output.map(({ type }) => type)).toEqual([
    "mcp_list_tools",
    "reasoning",
    "tool_search_call",
    "tool_search_output",
    "mcp_call",
    "message",
  ]);
  expect(first.output[3]).toMatchObject({
    tools: [{ type: "namespace", name: "words", tools: [{ name: "look_up" }] }],
  });
  expect(engine.prompts[0]).toContain("- words: A dictionary");
  expect(engine.prompts[0]).not.toContain(LOOKUP.description);
  const previous = { model: MODEL, previous_response_id: first.id, tools };
  const second = await client.responses.create({ ...previous, input: "And a dog?" });
  expect(second.output_text).toBe("It is sunny.");
  expect(calls).toHaveLength(2);
  expect(engine.prompts[3]?.split(LOOKUP.description)).toHaveLength(2);
});

test("without a search, the tools of a deferred server are shown", async () => {
  const { url } = await startMcpServer();
  const engine = scriptedEngine([ANSWER]);
  const { client } = createMcpApp({ engine, settings: { mcpServers: { words: { url } } } });
  const words = { type: "mcp", server_label: "words", defer_loading: true } as const;
  await client.responses.create({ model: MODEL, input: ASK, tools: [words] });
  expect(engine.prompts[0]).toContain(LOOKUP.description);
});
