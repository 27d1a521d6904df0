/** Compares the responses of every route of a running gateway with the OpenAPI document. */
import { writeFile } from "node:fs/promises";
import { afterAll, describe, expect, expectTypeOf, test } from "vitest";
import type * as z from "zod";
import type { JsonText } from "../../../src/json-text.ts";
import type {
  outputItem,
  response as responseSchema,
} from "../../../src/api/responses/reply-schema.ts";
import type { OutputItem, ResponseResource } from "../../../src/api/responses/to-response.ts";
import type { GatewayItem } from "../../../src/api/responses/gateway-item.ts";
import { createEngine, type Engine, EngineError } from "../../../src/index.ts";
import { createPool } from "../../../src/engines/pool.ts";
import { o200kHarmony } from "../../../src/tokenizer/index.ts";
import { BROWSER, BROWSING_SCRIPT, MODEL } from "../../helpers/browsing-app.ts";
import { fakeEngine } from "../../helpers/fake-engine.ts";
import { fakeTool } from "../../helpers/fake-tool.ts";
import { testSettings } from "../../helpers/gateway.ts";
import { createMcpApp } from "../../helpers/mcp-app.ts";
import { startMcpServer } from "../../helpers/mcp-server.ts";
import {
  type Answer,
  OPENAPI,
  OPERATIONS,
  problemsWith,
  toAnswer,
  toEvents,
} from "../../helpers/openapi-check.ts";
import { openRouterProblems } from "../../helpers/openrouter-check.ts";
import { toTyped, typeProblems } from "../../helpers/published-types.ts";
import { scriptedEngine } from "../../helpers/scripted-engine.ts";
import { appOf } from "../../helpers/app.ts";

interface Options {
  readonly engine?: Engine;
  readonly settings?: Readonly<Record<string, unknown>>;
  readonly toolbox?: Parameters<typeof appOf>[2]["toolbox"];
}

function createGateway({
  engine = createEngine("demo", { model: "demo" }),
  settings: given,
  toolbox = {},
}: Options = {}) {
  const settings = testSettings({ metrics: "open", ...given });
  let made = 0;
  const randomId = () => `id${(made += 1)}`;
  const pool = createPool([{ id: "a", engine }]);
  const app = appOf(settings, [{ id: MODEL, engine: pool }], { toolbox, randomId });
  return askBy(async (path, init) => app.request(path, init));
}

function askBy(send: (path: string, init: RequestInit) => Promise<Response>) {
  return async (operation: string, options: AskOptions = {}) => {
    const [method = "", path = ""] = operation.split(" ");
    const { at = path, body, headers } = options;
    const response = await send(at, {
      method: method.toUpperCase(),
      headers: { "content-type": "application/json", ...headers },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return toAnswer(operation, response);
  };
}

interface AskOptions {
  /** The path with parameters. */
  readonly at?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

const gateway = createGateway();
const answered = new Set<string>();
const answers: Answer[] = [];

// `proof/real/published-types.ts` compares them with the types of other languages.
afterAll(async () => {
  const file = process.env["ANSWERS_FILE"];
  if (file === undefined) return;
  const lines = answers.flatMap((each) => toTyped(each)).map((each) => JSON.stringify(each));
  await writeFile(file, `${[...new Set(lines)].join("\n")}\n`);
});

async function expectDocumented(
  operation: string,
  status: number,
  options: AskOptions = {},
  ask = gateway,
): Promise<string> {
  const answer = await ask(operation, options);
  expect([answer.status, answer.body.slice(0, status === answer.status ? 0 : 500)]).toEqual([
    status,
    "",
  ]);
  expect(await problemsWith(answer)).toEqual([]);
  if (status === 200) answered.add(operation);
  answers.push(answer);
  return answer.body;
}

const hello = [{ role: "user", content: "Hello!" }];
const parameters = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
const weather = { name: "get_weather", description: "The weather in a city.", parameters };
const question = [{ role: "user", content: "Use get_weather for Oslo, then answer." }];
const CHAT = "post /v1/chat/completions";
const RESPONSES = "post /v1/responses";
const MESSAGES = "post /v1/messages";

describe("answers are as the OpenAPI document says", () => {
  const chat: [string, object][] = [
    ["an answer", { messages: hello }],
    [
      "two choices with log probabilities",
      { messages: hello, n: 2, logprobs: true, top_logprobs: 2 },
    ],
    ["an answer cut short", { messages: hello, max_tokens: 20 }],
    ["a tool call", { messages: question, tools: [{ type: "function", function: weather }] }],
    [
      "a custom tool call",
      {
        messages: [{ role: "user", content: "Use note." }],
        tools: [{ type: "custom", custom: { name: "note" } }],
      },
    ],
    ["a legacy function call", { messages: question, functions: [weather] }],
    ["an answer with mirrored usage", { messages: hello, stream_options: { include_usage: true } }],
  ];
  test.each(chat)("Chat Completions, %s", async (_, fields) => {
    const body = { model: MODEL, ...fields };
    await expectDocumented(CHAT, 200, { body });
    await expectDocumented(CHAT, 200, { body: { ...body, stream: true } });
  });

  const responses: [string, object][] = [
    ["an answer", { input: "Hello!" }],
    [
      "log probabilities",
      { input: "Hello!", include: ["message.output_text.logprobs"], top_logprobs: 2 },
    ],
    [
      "a function call",
      { input: question, tools: [{ type: "function", ...weather, strict: false }] },
    ],
    ["a custom tool call", { input: "Use note.", tools: [{ type: "custom", name: "note" }] }],
    [
      "tools in a namespace, and a search for others",
      {
        input: "Hello!",
        tools: [
          { type: "namespace", name: "a", tools: [{ type: "function", ...weather }] },
          { type: "tool_search", execution: "client", description: "Finds tools.", parameters },
        ],
      },
    ],
    ["an answer cut short", { input: "Hello!", max_output_tokens: 20 }],
    [
      "a format",
      { input: "Hello!", text: { format: { type: "json_schema", name: "a", schema: parameters } } },
    ],
    ["the spelling of Open Responses", { model: `${MODEL}:open-responses`, input: "Hello!" }],
    [
      "a compaction",
      { input: "Hello!", context_management: [{ type: "compaction", compact_threshold: 1 }] },
    ],
    ["a response in the background", { input: "Hello!", background: true }],
  ];
  test.each(responses)("Responses, %s", async (_, fields) => {
    const body = { model: MODEL, ...fields };
    await expectDocumented(RESPONSES, 200, { body });
    await expectDocumented(RESPONSES, 200, { body: { ...body, stream: true } });
  });

  const messages: [string, object][] = [
    ["an answer", { messages: hello }],
    ["thinking", { messages: hello, thinking: { type: "enabled", budget_tokens: 1024 } }],
    [
      "a tool call",
      {
        messages: question,
        tools: [{ name: "get_weather", description: "The weather.", input_schema: parameters }],
      },
    ],
  ];
  test.each(messages)("Messages, %s", async (_, fields) => {
    const body = { model: MODEL, max_tokens: 2000, ...fields };
    await expectDocumented(MESSAGES, 200, { body });
    await expectDocumented(MESSAGES, 200, { body: { ...body, stream: true } });
  });

  test.each([
    ["raw", {}],
    ["sealed", { sealingKeys: ["A".repeat(43)] }],
    ["summary", { reasoningSummaries: true }],
    ["none", {}],
  ])("with the reasoning policy %s", async (reasoningPolicy, more) => {
    const ask = createGateway({ settings: { reasoningPolicy, ...more } });
    for (const stream of [false, true]) {
      await expectDocumented(CHAT, 200, { body: { messages: hello, stream } }, ask);
      const input = {
        model: MODEL,
        input: "Hello!",
        include: ["reasoning.encrypted_content"],
        stream,
      };
      await expectDocumented(RESPONSES, 200, { body: input }, ask);
      await expectDocumented(
        MESSAGES,
        200,
        { body: { model: MODEL, max_tokens: 900, messages: hello, stream } },
        ask,
      );
    }
  });

  test("calls that the gateway runs", async () => {
    const toolbox = { browser: BROWSER, python: () => fakeTool({ answer: () => "1\n" }) };
    const ask = async (operation: string, body: object, written: string) => {
      const engine = scriptedEngine(BROWSING_SCRIPT);
      const served = createGateway({ engine, toolbox });
      expect(await expectDocumented(operation, 200, { body }, served)).toContain(written);
    };
    for (const stream of [false, true]) {
      const tools = [
        { type: "web_search" },
        { type: "code_interpreter", container: { type: "auto" } },
      ];
      const include = [
        "web_search_call.action.sources",
        "web_search_call.results",
        "code_interpreter_call.outputs",
      ];
      const input = "What is the rate?";
      const all = { model: MODEL, max_tokens: 900, stream, messages: hello };
      await ask(RESPONSES, { ...all, input, tools, include }, "url_citation");
      await ask(
        CHAT,
        { ...all, tools: [{ type: "browser_search" }, { type: "code_interpreter" }] },
        "executed_tools",
      );
      const served = [
        { type: "web_search_20250305", name: "web_search" },
        { type: "code_execution_20250522", name: "code_execution" },
      ];
      await ask(MESSAGES, { ...all, tools: served }, "code_execution_tool_result");
    }
  });

  test("tools of an MCP server", async () => {
    const { url } = await startMcpServer({ answer: (name) => (name === "erase" ? 1 : "found") });
    const lost = await startMcpServer({
      intercept: (_, response) => response.writeHead(500).end() !== undefined,
    });
    const settings = { mcpServers: { words: { url }, lost: { url: lost.url } } };
    const call = (name: string) =>
      ` to=words.${name}<|channel|>commentary <|constrain|>json<|message|>{"word":"cat"}<|call|>`;
    const script = [call("look_up"), call("erase"), "<|channel|>final<|message|>Done.<|return|>"];
    const ask = async (operation: string, body: object) => {
      const { send } = createMcpApp({ engine: scriptedEngine(script), settings });
      const served = askBy((path, init) => send(`http://localhost${path}`, init));
      return expectDocumented(operation, 200, { body: { model: MODEL, ...body } }, served);
    };
    const words = { type: "mcp", server_label: "words" };
    for (const stream of [false, true]) {
      await ask(RESPONSES, { input: "cat?", tools: [{ ...words, server_label: "lost" }], stream });
      for (const approval of ["never", "always"]) {
        const tools = [{ ...words, require_approval: approval }];
        await ask(RESPONSES, { input: "cat?", tools, stream });
      }
      await ask(CHAT, {
        messages: hello,
        tools: [{ ...words, require_approval: "never" }],
        stream,
      });
    }
  });

  test("summaries of the reasoning", async () => {
    const thought = "I wonder which of the two is larger. ".repeat(10);
    const engine = scriptedEngine(({ prompt }) =>
      o200kHarmony().decode(prompt.ids).includes("Summarize the reasoning")
        ? "**Comparing**\n\nTwo things are compared.<|return|>"
        : `<|channel|>analysis<|message|>${thought}<|end|><|start|>assistant<|channel|>final<|message|>Hi.<|return|>`,
    );
    const ask = createGateway({ engine, settings: { reasoningSummaries: true } });
    const asked = { model: MODEL, reasoning: { summary: "auto" } };
    for (const stream of [false, true]) {
      await expectDocumented(RESPONSES, 200, { body: { ...asked, input: "Hi", stream } }, ask);
      await expectDocumented(CHAT, 200, { body: { ...asked, messages: hello, stream } }, ask);
    }
  });

  test("stored responses", async () => {
    const at = async (fields: object) => {
      const body = { model: MODEL, input: "Hello!", ...fields };
      const { id }: { id: string } = JSON.parse(await expectDocumented(RESPONSES, 200, { body }));
      return `/v1/responses/${id}`;
    };
    const stored = await at({});
    const background = await at({ background: true });
    const slow = createGateway({
      engine: createEngine("demo", { model: "demo", tokensPerSecond: 20 }),
    });
    const queued = await slow(RESPONSES, {
      body: { model: MODEL, input: "Hello!", background: true },
    });
    const cancelled = `/v1/responses/${JSON.parse(queued.body).id}/cancel`;
    await expectDocumented("get /v1/responses/{id}", 200, { at: stored });
    await expectDocumented("get /v1/responses/{id}", 200, { at: `${background}?stream=true` });
    await expectDocumented("get /v1/responses/{id}/input_items", 200, {
      at: `${stored}/input_items`,
    });
    await expectDocumented("post /v1/responses/{id}/cancel", 200, { at: cancelled }, slow);
    await expectDocumented("delete /v1/responses/{id}", 200, { at: stored });
    await expectDocumented("get /v1/responses/{id}", 404, { at: stored });
    const body = { model: MODEL, input: [{ role: "developer", content: "Be brief." }, ...hello] };
    await expectDocumented("post /v1/responses/input_tokens", 200, { body });
    await expectDocumented("post /v1/responses/compact", 200, { body });
  });

  test("conversations", async () => {
    const body = { items: hello, metadata: { topic: "greetings" } };
    const created = await expectDocumented("post /v1/conversations", 200, { body });
    const { id }: { id: string } = JSON.parse(created);
    const at = `/v1/conversations/${id}`;
    await expectDocumented(RESPONSES, 200, {
      body: { model: MODEL, input: "Hi", conversation: id },
    });
    await expectDocumented("get /v1/conversations/{id}", 200, { at });
    await expectDocumented("post /v1/conversations/{id}", 200, { at, body: { metadata: {} } });
    const listed = await expectDocumented("get /v1/conversations/{id}/items", 200, {
      at: `${at}/items`,
    });
    await expectDocumented("post /v1/conversations/{id}/items", 200, {
      at: `${at}/items`,
      body: { items: hello },
    });
    const [item]: { id: string }[] = JSON.parse(listed).data;
    const one = { at: `${at}/items/${item?.id}` };
    await expectDocumented("get /v1/conversations/{id}/items/{item}", 200, one);
    await expectDocumented("delete /v1/conversations/{id}/items/{item}", 200, one);
    await expectDocumented("delete /v1/conversations/{id}", 200, { at });
    await expectDocumented("get /v1/conversations/{id}", 404, { at });
  });

  test("models, counts and the gateway's state", async () => {
    const body = { model: MODEL, messages: hello };
    await expectDocumented("post /v1/messages/count_tokens", 200, { body });
    const version = { headers: { "anthropic-version": "2023-06-01" } };
    for (const asked of [{}, version]) {
      await expectDocumented("get /v1/models", 200, asked);
      await expectDocumented("get /v1/models/{id}", 200, { at: `/v1/models/${MODEL}`, ...asked });
      await expectDocumented("get /v1/models/{id}", 404, { at: "/v1/models/other", ...asked });
    }
    await expectDocumented("get /v1/models/user", 200);
    await expectDocumented("get /v1/models/count", 200);
    await expectDocumented("get /v1/models/{id}", 200, { at: `/v1/models/${MODEL}/endpoints` });
    await expectDocumented("get /v1/model/{id}", 200, { at: `/v1/model/${MODEL}` });
    for (const path of ["/api", "/openapi.json", "/health", "/ready", "/metrics"]) {
      await expectDocumented(`get ${path}`, 200);
    }
    await expectDocumented("get /", 200, { headers: { accept: "text/html" } });
  });

  test("failures of the engine, before a stream and in it", async () => {
    const refusing = () =>
      createGateway({ engine: scriptedEngine([{ refuse: new EngineError("auth", "no") }]) });
    const failing = () =>
      createGateway({
        engine: scriptedEngine([
          {
            write: "<|channel|>final<|message|>The answer",
            fail: new EngineError("closed", "gone"),
          },
        ]),
      });
    const asked: [string, object, number][] = [
      [CHAT, { messages: hello }, 502],
      [RESPONSES, { model: MODEL, input: "Hello!" }, 502],
      [MESSAGES, { model: MODEL, max_tokens: 900, messages: hello }, 502],
    ];
    for (const [operation, body, status] of asked) {
      await expectDocumented(operation, status, { body }, refusing());
      const events = toEvents(
        await expectDocumented(operation, 200, { body: { ...body, stream: true } }, failing()),
      );
      expect(events.join("\n")).toContain('"error"');
    }
  });

  test("refusals of requests, and of clients without a key", async () => {
    const keyed = createGateway({
      settings: { keys: [`alice:${"a".repeat(64)}`], metrics: "key" },
    });
    for (const { name: operation, path, body, isOpen } of OPERATIONS) {
      const at = path.replaceAll(/\{\w+\}/g, "x");
      if (!isOpen) await expectDocumented(operation, 401, { at }, keyed);
      if (body !== undefined && path !== "/v1/conversations") {
        await expectDocumented(operation, 400, { at, body: [] });
      }
    }
    const down = createGateway({
      engine: fakeEngine(() => Promise.reject(new Error("no"))),
    });
    await expectDocumented("get /ready", 200, {}, down);
  });

  // These must be the last tests: they check the answers to the others.
  test("of each operation", () => {
    expect([...answered].toSorted()).toEqual(OPERATIONS.map(({ name }) => name).toSorted());
  });

  test("with each type of event", () => {
    const types = answers
      .filter(({ type }) => type === "text/event-stream")
      .flatMap(({ body }) => Array.from(body.matchAll(/^data: .*?"type":"(response\.[\w.]+)"/gm)))
      .map(([, type]) => type);
    const documented = JSON.stringify(OPENAPI.components.schemas["ResponseEvent"]);
    const all = Array.from(documented.matchAll(/"(response\.[\w.]+)"/g), ([, type]) => type);
    expect(new Set(types)).toEqual(new Set(all));
  });

  test("in the types of OpenAI's and Anthropic's clients", async () => {
    expect(await typeProblems(answers)).toEqual([]);
  });

  test("as OpenRouter's SDK reads them", () => {
    expect(openRouterProblems(answers)).toEqual([]);
  });
});

type DeepReadonly<T> = T extends object ? { readonly [K in keyof T]: DeepReadonly<T[K]> } : T;

/** A type as a client reads it from JSON. */
type Written<T> = T extends JsonText
  ? OutputText["logprobs"]
  : T extends object
    ? { readonly [K in keyof T]: Written<T[K]> }
    : T;
type OutputText = Extract<
  DeepReadonly<z.infer<ReturnType<typeof outputItem>>>,
  { type: "message" }
>["content"][number];

test("the types of what the Responses API writes are those of its schemas", () => {
  type Fields = DeepReadonly<z.infer<ReturnType<typeof responseSchema>>>;
  type Item = DeepReadonly<z.infer<ReturnType<typeof outputItem>>>;
  // Calls of the gateway have no precise type.
  expectTypeOf((item: Written<Exclude<OutputItem, GatewayItem>>): Item => item).toBeFunction();
  expectTypeOf<
    Omit<DeepReadonly<ResponseResource>, "output" | "tools" | "tool_choice" | "text">
  >().toExtend<Omit<Fields, "output" | "tools" | "tool_choice" | "text">>();
  expectTypeOf<keyof ResponseResource>().toEqualTypeOf<keyof Fields>();
});
