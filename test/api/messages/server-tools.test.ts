/** Anthropic's server tools, run by the gateway, through Anthropic's own client. */
import type Anthropic from "@anthropic-ai/sdk";
import { BadRequestError } from "@anthropic-ai/sdk";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import {
  BROWSER,
  BROWSING_SCRIPT,
  type BrowsingApp,
  createBrowsingApp,
  MODEL,
} from "../../helpers/browsing-app.ts";
import { fakeTool } from "../../helpers/fake-tool.ts";
import { scriptedEngine } from "../../helpers/scripted-engine.ts";
import { readEvents, SEALING_KEY } from "./support.ts";

type Params = Anthropic.MessageCreateParamsNonStreaming;

const SEARCH_TOOL = { type: "web_search_20250305", name: "web_search" } as const;
const CODE_TOOL = { type: "code_execution_20250522", name: "code_execution" } as const;
const ASK: Anthropic.Tool = { name: "ask", input_schema: { type: "object" } };
const HELLO = { role: "user", content: "What is the rate?" } as const;
const body: Params = {
  model: MODEL,
  max_tokens: 1000,
  messages: [HELLO],
  tools: [SEARCH_TOOL, CODE_TOOL],
};

const SEARCH =
  ' to=browser.search<|channel|>analysis code<|message|>{"query":"policy rate"}<|call|>';
const OPEN = ' to=browser.open<|channel|>analysis code<|message|>{"cursor":0,"id":0}<|call|>';
const CODE = " to=python<|channel|>analysis code<|message|>print(1)<|call|>";
const CALL = " to=functions.ask<|channel|>commentary <|constrain|>json<|message|>{}<|call|>";
const FINAL = "<|channel|>final<|message|>ok<|return|>";

const WAYS: readonly {
  name: string;
  send: (app: BrowsingApp, params: Params) => Promise<Anthropic.Message>;
}[] = [
  { name: "plain", send: ({ anthropic }, params) => anthropic.messages.create(params) },
  {
    name: "streamed",
    send: ({ anthropic }, params) => anthropic.messages.stream(params).finalMessage(),
  },
];

describe.each(WAYS)("$name", ({ send }) => {
  test("two searches, an opened page, code and a cited answer", async () => {
    const app = createBrowsingApp({ engine: scriptedEngine(BROWSING_SCRIPT, { batch: 4 }) });
    const message = await send(app, body);
    expect(message.stop_reason).toBe("end_turn");
    expect(message.content.filter(({ type }) => type !== "thinking")).toMatchObject([
      { type: "server_tool_use", name: "web_search", input: { query: "policy rate" } },
      {
        type: "web_search_tool_result",
        caller: { type: "direct" },
        content: [
          {
            type: "web_search_result",
            title: "Policy rate",
            url: "https://files.example/rates.md",
            page_age: null,
          },
          { title: "History of the rate" },
        ],
      },
      { type: "server_tool_use", name: "web_search" },
      { type: "web_search_tool_result" },
      {
        type: "server_tool_use",
        name: "web_fetch",
        input: { url: "https://files.example/rates.md" },
      },
      {
        type: "web_fetch_tool_result",
        content: {
          type: "web_fetch_result",
          url: "https://files.example/rates.md",
          content: {
            type: "document",
            title: "Policy rate",
            source: { data: expect.stringContaining("The rate is 0.5% since January.") },
          },
        },
      },
      {
        type: "server_tool_use",
        name: "code_execution",
        input: { code: "print(0.5 - 0.25)" },
      },
      {
        type: "code_execution_tool_result",
        content: { type: "code_execution_result", stdout: "1\n", stderr: "", return_code: 0 },
      },
      {
        type: "text",
        text: "It is 0.5%",
        citations: [
          {
            type: "web_search_result_location",
            url: "https://files.example/rates.md",
            title: "Policy rate",
            cited_text: "The rate is 0.5% since January.",
          },
        ],
      },
      { type: "text", text: ", up from 0.25%." },
    ]);
    const uses = message.content.flatMap((block) =>
      block.type === "server_tool_use" ? [block.id] : [],
    );
    const results = message.content.flatMap((block) =>
      block.type !== "server_tool_use" && "tool_use_id" in block ? [block.tool_use_id] : [],
    );
    expect(results).toEqual(uses);
    expect(new Set(uses).size).toBe(4);
    expect(uses.every((id) => /^srvtoolu_[a-zA-Z0-9_]+$/.test(id))).toBe(true);
    expect(message.usage.server_tool_use).toEqual({
      web_search_requests: 2,
      web_fetch_requests: 1,
    });
    expect(message.container).toMatchObject({ id: "cntr_1" });
  });

  test("an answer of a form is one block without citations", async () => {
    const answer = '<|channel|>final<|message|>{"rate":"0.5%【0†L4】"}<|return|>';
    const app = createBrowsingApp({ engine: scriptedEngine([SEARCH, OPEN, answer]) });
    const schema = {
      type: "object",
      properties: { rate: { type: "string" } },
      required: ["rate"],
      additionalProperties: false,
    };
    const message = await send(app, {
      ...body,
      output_config: { format: { type: "json_schema", schema } },
    });
    expect(message.content.at(-1)).toEqual({
      type: "text",
      text: '{"rate":"0.5%"}',
    });
  });

  test("what fails is the result's error, not the request's", async () => {
    const engine = scriptedEngine([
      '<|channel|>analysis to=browser.search code<|message|>{"topn":1}<|call|>',
      '<|channel|>analysis to=browser.open code<|message|>{"id":"https://nowhere.example/"}<|call|>',
      CODE,
      FINAL,
    ]);
    const python = () =>
      fakeTool({
        answer: () => {
          throw new Error("no interpreter");
        },
      });
    const app = createBrowsingApp({ engine, toolbox: { browser: BROWSER, python } });
    const { content } = await send(app, body);
    const errors = content.flatMap((block) =>
      "tool_use_id" in block && !Array.isArray(block.content) ? [block.content] : [],
    );
    expect(errors).toEqual([
      { type: "web_search_tool_result_error", error_code: "invalid_tool_input" },
      { type: "web_fetch_tool_result_error", error_code: "url_not_accessible" },
      { type: "code_execution_tool_result_error", error_code: "unavailable" },
    ]);
    expect(content.at(-1)).toMatchObject({ text: "ok" });
  });

  test("max_uses limits searches, and nothing else", async () => {
    const engine = scriptedEngine([SEARCH, SEARCH, OPEN, CODE, FINAL]);
    const app = createBrowsingApp({ engine });
    const { content, usage } = await send(app, {
      ...body,
      tools: [{ ...SEARCH_TOOL, max_uses: 1 }, CODE_TOOL],
    });
    expect(content.flatMap((block) => ("tool_use_id" in block ? [block.content] : []))).toEqual([
      expect.any(Array),
      { type: "web_search_tool_result_error", error_code: "max_uses_exceeded" },
      expect.objectContaining({ type: "web_fetch_result" }),
      expect.objectContaining({ type: "code_execution_result" }),
    ]);
    expect(usage.server_tool_use).toMatchObject({ web_fetch_requests: 1 });
  });

  test.each([
    {},
    { thinking: { type: "adaptive", display: "summarized" } as const },
    { thinking: { type: "adaptive", display: "omitted" } as const },
  ])(
    "a loop goes on with exactly what the model saw, on a gateway that shares only the key: %j",
    async (fields) => {
      const engine = scriptedEngine([
        `<|channel|>analysis<|message|>Search first.<|end|><|start|>assistant${SEARCH}`,
        "<|channel|>commentary<|message|>Let me look.<|end|><|start|>assistant" + OPEN,
        CODE,
        `<|channel|>analysis<|message|>Now ask.<|end|><|start|>assistant${CALL}`,
        '<|channel|>analysis to=browser.find code<|message|>{"pattern":"rate"}<|call|>',
        "<|channel|>final<|message|>It is 0.5%【1†L4】.<|return|>",
      ]);
      const settings = { sealingKeys: [SEALING_KEY], storeMaxBytes: 1 };
      const tools = [...(body.tools ?? []), ASK];
      const params: Params = { ...body, ...fields, tools };
      const first = await send(createBrowsingApp({ engine, settings }), params);
      expect(first.stop_reason).toBe("tool_use");
      const call = first.content.find((block) => block.type === "tool_use");
      const next = await send(createBrowsingApp({ engine, settings }), {
        ...params,
        messages: [
          HELLO,
          { role: "assistant", content: first.content },
          {
            role: "user",
            content: [{ type: "tool_result", tool_use_id: call?.id ?? "", content: "yes" }],
          },
        ],
      });
      const [, , , before = "", after = ""] = engine.prompts;
      expect(after.startsWith(before)).toBe(true);
      expect(next.content.at(-2)).toMatchObject({
        text: "It is 0.5%",
        citations: [{ url: "https://files.example/rates.md" }],
      });
    },
  );
});

test("the stream opens and closes each block in turn, and streams code", async () => {
  const engine = scriptedEngine(BROWSING_SCRIPT, { batch: 2 });
  const { post } = createBrowsingApp({ engine });
  const events = readEvents(await (await post("/v1/messages", { ...body, stream: true })).text());
  const isBlock = (event: string) => /^content_block_(?:start|stop)$/.test(event);
  const order = events.filter(({ event }) => isBlock(event));
  expect(order.map(({ event, data }) => [event, data["index"]])).toEqual(
    Array.from({ length: order.length / 2 }, (_, index) => [
      ["content_block_start", index],
      ["content_block_stop", index],
    ]).flat(),
  );
  const deltas = new Map<unknown, string[]>();
  for (const { data } of events) {
    const delta = z.object({ partial_json: z.string() }).safeParse(data["delta"]).data;
    if (delta === undefined) continue;
    const { index } = data;
    deltas.set(index, [...(deltas.get(index) ?? []), delta.partial_json]);
  }
  const inputs = [...deltas.values()];
  expect(inputs.map((texts) => JSON.parse(texts.join("")))).toEqual([
    { query: "policy rate" },
    { query: "history of the rate" },
    { url: "https://files.example/rates.md" },
    { code: "print(0.5 - 0.25)" },
  ]);
  expect(inputs.map((texts) => texts.length > 1)).toEqual([false, false, false, true]);
});

describe("declarations", () => {
  test.each([
    [{ ...SEARCH_TOOL, allowed_domains: ["files.example"] }, "rates.md"],
    [{ ...SEARCH_TOOL, allowed_domains: ["other.example"] }, undefined],
    [{ ...SEARCH_TOOL, blocked_domains: ["files.example"] }, undefined],
  ])("%j", async (tool, found) => {
    const app = createBrowsingApp({ engine: scriptedEngine([SEARCH, FINAL]) });
    const { content } = await app.anthropic.messages.create({ ...body, tools: [tool] });
    expect(JSON.stringify(content).includes("rates.md")).toBe(found !== undefined);
  });

  test.each([
    [
      { ...SEARCH_TOOL, allowed_domains: ["files.example/rates"] },
      "tools[0].allowed_domains[0]: must be a domain such as example.com, without scheme, path or wildcard",
    ],
    [{ ...SEARCH_TOOL, max_uses: 0 }, "tools[0].max_uses: must be at least 1, but it is 0"],
    [
      { ...SEARCH_TOOL, allowed_callers: ["code_execution_20250825" as const] },
      'tools[0].allowed_callers: this gateway runs web_search for the model only, not for code it executes. Add "direct"',
    ],
  ])("%j is refused", async (tool, message) => {
    const app = createBrowsingApp({ engine: scriptedEngine([FINAL]) });
    const request = app.anthropic.messages.create({ ...body, tools: [tool] });
    const error: unknown = await request.catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(BadRequestError);
    expect(String(error)).toContain(JSON.stringify(message).slice(1, -1));
  });

  test("web_fetch beside web_search is the same browser, with its own limit", async () => {
    const engine = scriptedEngine([SEARCH, OPEN, OPEN, FINAL]);
    const app = createBrowsingApp({ engine });
    const fetchTool = { type: "web_fetch_20250910", name: "web_fetch", max_uses: 1 } as const;
    const { content } = await app.anthropic.messages.create({
      ...body,
      tools: [SEARCH_TOOL, fetchTool],
    });
    expect(content.at(-3)).toMatchObject({
      content: { type: "web_fetch_tool_result_error", error_code: "max_uses_exceeded" },
    });
  });

  test("a deferred tool is offered once a search for tools has found it", async () => {
    const engine = scriptedEngine([FINAL, FINAL]);
    const { anthropic } = createBrowsingApp({ engine });
    const tools = [{ ...SEARCH_TOOL, defer_loading: true }, ASK];
    await anthropic.messages.create({ ...body, tools });
    const reference = { type: "tool_reference", tool_name: "web_search" } as const;
    await anthropic.messages.create({
      ...body,
      tools,
      messages: [
        HELLO,
        { role: "assistant", content: [{ type: "tool_use", id: "a", name: "ask", input: {} }] },
        {
          role: "user",
          content: [{ type: "tool_result", tool_use_id: "a", content: [reference] }],
        },
      ],
    });
    expect(engine.prompts.map((prompt) => prompt.includes("namespace browser"))).toEqual([
      false,
      true,
    ]);
  });

  test.each([
    ["named", { type: "tool", name: "web_search" } as const],
    ["required, and the only tool", { type: "any" } as const],
  ])("%s: the first call is forced", async (_, choice) => {
    const engine = scriptedEngine(['{"query":"rate"}<|call|>', FINAL]);
    const { anthropic } = createBrowsingApp({ engine });
    await anthropic.messages.create({ ...body, tools: [SEARCH_TOOL], tool_choice: choice });
    expect(engine.prompts[0]).toMatch(/to=browser\.search<\|channel\|>analysis code<\|message\|>$/);
  });

  test("none: the tools are not offered", async () => {
    const engine = scriptedEngine([FINAL]);
    const { anthropic } = createBrowsingApp({ engine });
    await anthropic.messages.create({ ...body, tool_choice: { type: "none" } });
    expect(engine.prompts[0]).not.toContain("namespace browser");
  });

  test("counted tokens are those of the prompt with the tools", async () => {
    const engine = scriptedEngine([FINAL]);
    const { anthropic } = createBrowsingApp({ engine });
    const { max_tokens: _, ...prompt } = body;
    const { input_tokens: counted } = await anthropic.messages.countTokens(prompt);
    const { usage } = await anthropic.messages.create(body);
    expect(counted).toBe(usage.input_tokens);
  });

  test("where the gateway does not run them they are skipped as before", async () => {
    const engine = scriptedEngine([FINAL]);
    const { post } = createBrowsingApp({ engine, toolbox: {} });
    const response = await post("/v1/messages", body);
    expect(response.headers.get("x-harmony-skipped")).toBe(
      "code_execution_20250522, web_search_20250305",
    );
    expect(engine.prompts[0]).toContain("Not available here: web_search, code_execution.");
  });

  test("beside a search a fetch is the same tool, and others are skipped", async () => {
    const { post } = createBrowsingApp({ engine: scriptedEngine([FINAL]) });
    const tools = [
      ...(body.tools ?? []),
      { type: "web_fetch_20250910", name: "web_fetch" },
      { type: "teleport_20990101", name: "teleport" },
    ];
    const response = await post("/v1/messages", { ...body, tools });
    expect(response.headers.get("x-harmony-skipped")).toBe("teleport_20990101");
  });
});

describe("histories", () => {
  const foreign = [
    { type: "server_tool_use", id: "srvtoolu_01A", name: "web_search", input: { query: "x" } },
    {
      type: "web_search_tool_result",
      tool_use_id: "srvtoolu_01A",
      content: [
        { type: "web_search_result", url: "https://x.example", title: "X", encrypted_content: "E" },
      ],
    },
  ];

  test("blocks of Anthropic's own servers are left out", async () => {
    const engine = scriptedEngine([FINAL]);
    const { post } = createBrowsingApp({ engine });
    const messages = [HELLO, { role: "assistant", content: foreign }, HELLO];
    const response = await post("/v1/messages", { ...body, messages });
    expect(response.status).toBe(200);
    expect(response.headers.get("x-harmony-skipped")).toBe(
      "server_tool_use, web_search_tool_result",
    );
    expect(engine.prompts[0]).not.toContain("x.example");
  });

  test("an altered result is left out, and nothing is invented", async () => {
    const engine = scriptedEngine([SEARCH, CALL, FINAL]);
    const app = createBrowsingApp({ engine, settings: { storeMaxBytes: 1 } });
    const params: Params = { ...body, tools: [SEARCH_TOOL, ASK] };
    const first = await app.anthropic.messages.create(params);
    const call = first.content.find((block) => block.type === "tool_use");
    const altered = JSON.parse(
      JSON.stringify(first.content).replaceAll(
        /("encrypted_content":"[^"]{40})(.)/g,
        (_, before: string, changed: string) => before + (changed === "_" ? "A" : "_"),
      ),
    );
    const response = await app.post("/v1/messages", {
      ...params,
      messages: [
        HELLO,
        { role: "assistant", content: altered },
        { role: "user", content: [{ type: "tool_result", tool_use_id: call?.id, content: "y" }] },
      ],
    });
    expect(response.status).toBe(200);
    expect(response.headers.get("x-harmony-cot")).toBe("lost");
    expect(engine.prompts[2]).not.toContain("browser.search to=assistant");
  });

  test("with a store, a client that sends no block of the gateway's goes on as well", async () => {
    const engine = scriptedEngine([SEARCH, OPEN, CALL, FINAL]);
    const app = createBrowsingApp({ engine });
    const params: Params = { ...body, tools: [SEARCH_TOOL, ASK] };
    const first = await app.anthropic.messages.create(params);
    const call = first.content.filter((block) => block.type === "tool_use");
    await app.anthropic.messages.create({
      ...params,
      messages: [
        HELLO,
        { role: "assistant", content: call },
        {
          role: "user",
          content: [{ type: "tool_result", tool_use_id: call[0]?.id ?? "", content: "yes" }],
        },
      ],
    });
    const [, , before = "", after = ""] = engine.prompts;
    expect(after.startsWith(before)).toBe(true);
  });

  test("after an answer, what was found is dropped like other reasoning", async () => {
    const engine = scriptedEngine([...BROWSING_SCRIPT, FINAL]);
    const { anthropic } = createBrowsingApp({ engine });
    const first = await anthropic.messages.create(body);
    await anthropic.messages.create({
      ...body,
      messages: [HELLO, { role: "assistant", content: first.content }, HELLO],
    });
    expect(engine.prompts.at(-1)).toContain(
      "<|channel|>final<|message|>It is 0.5%, up from 0.25%.<|end|>",
    );
    expect(engine.prompts.at(-1)).not.toContain("to=browser");
  });

  test("a message that ends with a result is gone on with, as after a pause", async () => {
    const engine = scriptedEngine([SEARCH, FINAL, FINAL]);
    const { anthropic } = createBrowsingApp({ engine });
    const tools = [SEARCH_TOOL];
    const first = await anthropic.messages.create({ ...body, tools });
    const end = first.content.findLastIndex(({ type }) => type === "web_search_tool_result") + 1;
    await anthropic.messages.create({
      ...body,
      tools,
      messages: [HELLO, { role: "assistant", content: first.content.slice(0, end) }],
    });
    const [, before = "", after = ""] = engine.prompts;
    expect(after).toBe(before);
  });
});
