/** Tools that the gateway runs, on the Responses API, read by OpenAI's client. */
import { describe, expect, test } from "vitest";
import { createMemoryStore } from "../../../src/index.ts";
import {
  BROWSING_ANSWER,
  BROWSING_SCRIPT,
  createBrowsingApp,
  MODEL,
} from "../../helpers/browsing-app.ts";
import { fakeTool } from "../../helpers/fake-tool.ts";
import { scriptedEngine, type ScriptedEngine } from "../../helpers/scripted-engine.ts";

const TOOLS = [
  { type: "web_search" as const },
  { type: "code_interpreter" as const, container: { type: "auto" as const } },
];
const CITATION = {
  type: "url_citation",
  start_index: 10,
  end_index: 60,
  url: "https://files.example/rates.md",
  title: "Policy rate",
};

describe("a turn with two searches, an opened page, code and a cited answer", () => {
  test("as one response", async () => {
    const { client } = createBrowsingApp({ engine: scriptedEngine(BROWSING_SCRIPT) });
    const response = await client.responses.create({
      model: MODEL,
      input: "What is the policy rate?",
      tools: TOOLS,
      include: ["web_search_call.action.sources", "code_interpreter_call.outputs"],
    });
    expect(response.output_text).toBe(BROWSING_ANSWER);
    expect(response.tools).toEqual(TOOLS);
    expect(response.output.map(({ type }) => type)).toEqual([
      "reasoning",
      "web_search_call",
      "web_search_call",
      "web_search_call",
      "code_interpreter_call",
      "message",
    ]);
    const [, search, , open, code, message] = response.output;
    expect(search).toMatchObject({
      status: "completed",
      action: {
        type: "search",
        query: "policy rate",
        queries: ["policy rate"],
        sources: [
          { type: "url", url: "https://files.example/rates.md" },
          { type: "url", url: "https://files.example/history.md" },
        ],
      },
    });
    expect(search?.id).toMatch(/^ws_/);
    expect(open).toMatchObject({ action: { type: "open_page", url: CITATION.url } });
    expect(code).toMatchObject({
      status: "completed",
      code: "print(0.5 - 0.25)",
      container_id: "cntr_1",
      outputs: [{ type: "logs", logs: "1\n" }],
    });
    expect(message).toMatchObject({ content: [{ annotations: [CITATION] }] });
    expect(BROWSING_ANSWER.slice(CITATION.start_index, CITATION.end_index)).toBe(
      " ([files.example](https://files.example/rates.md))",
    );
    expect(JSON.stringify(response)).not.toContain("harmony");
  });

  test("without include, sources and outputs stay away", async () => {
    const { client } = createBrowsingApp({ engine: scriptedEngine(BROWSING_SCRIPT) });
    const { output } = await client.responses.create({ model: MODEL, input: "?", tools: TOOLS });
    expect(output[1]).not.toHaveProperty("action.sources");
    expect(output[4]).toMatchObject({ type: "code_interpreter_call", outputs: null });
  });

  test("streamed: the SDK's events, in its order, and the text the annotations are about", async () => {
    const { client } = createBrowsingApp({ engine: scriptedEngine(BROWSING_SCRIPT, { batch: 3 }) });
    const stream = client.responses.stream({ model: MODEL, input: "?", tools: TOOLS });
    const types: string[] = [];
    let text = "";
    const spans: string[] = [];
    const annotations: unknown[] = [];
    for await (const event of stream) {
      if (event.type.endsWith(".delta")) {
        if (types.at(-1) !== event.type) types.push(event.type);
      } else {
        types.push(event.type);
      }
      if (event.type === "response.output_text.delta") text += event.delta;
      if (event.type === "response.output_text.annotation.added") {
        annotations.push(event.annotation);
        spans.push(text.slice(CITATION.start_index, CITATION.end_index));
      }
    }
    const search = [
      "response.output_item.added",
      "response.web_search_call.in_progress",
      "response.web_search_call.searching",
      "response.web_search_call.completed",
      "response.output_item.done",
    ];
    expect(types.filter((type) => !type.includes("reasoning"))).toEqual([
      "response.created",
      "response.in_progress",
      "response.output_item.added",
      "response.content_part.added",
      "response.content_part.done",
      "response.output_item.done",
      ...search,
      ...search,
      ...search,
      "response.output_item.added",
      "response.code_interpreter_call.in_progress",
      "response.code_interpreter_call_code.delta",
      "response.code_interpreter_call_code.done",
      "response.code_interpreter_call.interpreting",
      "response.code_interpreter_call.completed",
      "response.output_item.done",
      "response.output_item.added",
      "response.content_part.added",
      "response.output_text.delta",
      "response.output_text.annotation.added",
      "response.output_text.delta",
      "response.output_text.done",
      "response.content_part.done",
      "response.output_item.done",
      "response.completed",
    ]);
    expect(annotations).toEqual([CITATION]);
    expect(spans).toEqual([" ([files.example](https://files.example/rates.md))"]);
    const final = await stream.finalResponse();
    expect(final.output_text).toBe(BROWSING_ANSWER);
  });
});

/** The calls in the prompt of the last engine call. */
function calledIn(engine: ScriptedEngine): string[] {
  return [
    ...(engine.prompts.at(-1) ?? "").matchAll(
      /assistant(?:<\|channel\|>analysis)? to=(browser\.\w+|python)/g,
    ),
  ].map(([, name = ""]) => name);
}

describe("a client's function call in between", () => {
  const tools = [
    ...TOOLS,
    { type: "function" as const, name: "ask", parameters: {}, strict: false },
  ];
  const scripts = [
    ' to=browser.search<|channel|>analysis code<|message|>{"query":"policy rate"}<|call|>',
    " to=functions.ask<|channel|>commentary <|constrain|>json<|message|>{}<|call|>",
    '<|channel|>analysis to=browser.open code<|message|>{"cursor":0,"id":0}<|call|>',
    "<|channel|>final<|message|>It is 0.5%【1†L4】.<|return|>",
  ];
  const cited = "It is 0.5% ([files.example](https://files.example/rates.md)).";

  test("the next response goes on with the pages, also on another replica", async () => {
    const engine = scriptedEngine(scripts);
    const store = createMemoryStore({ maxEntries: 100, maxBytes: 1e7, now: Date.now });
    const first = createBrowsingApp({ engine, store });
    const { id, output } = await first.client.responses.create({ model: MODEL, input: "?", tools });
    const call = output.find(({ type }) => type === "function_call");
    expect(call).toMatchObject({ name: "ask" });
    const other = createBrowsingApp({ engine, store });
    const next = await other.client.responses.create({
      model: MODEL,
      previous_response_id: id,
      input: [
        {
          type: "function_call_output",
          call_id: call?.type === "function_call" ? call.call_id : "",
          output: "yes",
        },
      ],
      tools,
    });
    expect(next.output_text).toBe(cited);
    expect(calledIn(engine)).toEqual(["browser.search", "browser.open"]);
    expect(engine.prompts.at(-1)).toContain("[1] Policy rate (https://files.example/rates.md)");
    // The prompt has the call as the model wrote it, so that the engine's prefix cache is used.
    expect(engine.prompts[2]?.startsWith(engine.prompts[1] ?? "?")).toBe(true);
  });

  test("a client without a stored response carries it encrypted", async () => {
    const engine = scriptedEngine(scripts);
    const keys = { sealingKeys: [Buffer.alloc(32, 7).toString("base64url")] };
    const request = {
      model: MODEL,
      tools,
      store: false,
      include: ["reasoning.encrypted_content" as const],
    };
    const first = createBrowsingApp({ engine, settings: keys });
    const { output } = await first.client.responses.create({ ...request, input: "?" });
    const call = output.find(({ type }) => type === "function_call");
    const other = createBrowsingApp({ engine, settings: keys });
    const next = await other.client.responses.create({
      ...request,
      input: [
        { role: "user", content: "?" },
        ...output.flatMap((item) =>
          item.type === "web_search_call" || item.type === "function_call" ? [item] : [],
        ),
        {
          type: "function_call_output",
          call_id: call?.type === "function_call" ? call.call_id : "",
          output: "yes",
        },
      ],
    });
    expect(next.output_text).toBe(cited);
  });

  test("an item whose result is nowhere is left out, and none is invented", async () => {
    const engine = scriptedEngine([scripts[3] ?? ""]);
    const { client } = createBrowsingApp({ engine });
    const response = await client.responses.create({
      model: MODEL,
      tools,
      input: [
        { role: "user", content: "?" },
        {
          type: "web_search_call",
          id: "ws_unknown",
          status: "completed",
          action: { type: "search", query: "x", queries: ["x"] },
        },
      ],
    });
    expect(calledIn(engine)).toEqual([]);
    expect(response.output_text).toBe("It is 0.5%.");
  });
});

describe("what a request may ask for", () => {
  const answer = "<|channel|>final<|message|>ok<|return|>";

  test("tool_choice: a hosted tool is forced for the first call", async () => {
    const engine = scriptedEngine(['{"query":"rate"}<|call|>', answer]);
    const { client } = createBrowsingApp({ engine });
    const { output, tool_choice: choice } = await client.responses.create({
      model: MODEL,
      input: "?",
      tools: [{ type: "web_search_preview" }],
      tool_choice: { type: "web_search_preview" },
    });
    expect(engine.prompts[0]).toMatch(/to=browser\.search<\|channel\|>analysis code<\|message\|>$/);
    expect(output.map(({ type }) => type)).toEqual(["web_search_call", "message"]);
    expect(choice).toEqual({ type: "web_search_preview" });
  });

  test("tool_choice required, with nothing else to call", async () => {
    const engine = scriptedEngine(["print(1)<|call|>", answer]);
    const { client } = createBrowsingApp({ engine });
    const { output } = await client.responses.create({
      model: MODEL,
      input: "?",
      tools: TOOLS.slice(1),
      tool_choice: "required",
    });
    expect(output[0]).toMatchObject({ type: "code_interpreter_call", code: "print(1)" });
  });

  test("tool_choice none: nothing is offered", async () => {
    const engine = scriptedEngine([answer]);
    const { client } = createBrowsingApp({ engine });
    await client.responses.create({ model: MODEL, input: "?", tools: TOOLS, tool_choice: "none" });
    expect(engine.prompts[0]).not.toContain("## browser");
  });

  test("max_tool_calls: further calls are not run", async () => {
    const search = BROWSING_SCRIPT[1] ?? "";
    const engine = scriptedEngine([search, search, "ok<|return|>"]);
    const { client } = createBrowsingApp({ engine });
    const { output } = await client.responses.create({
      model: MODEL,
      input: "?",
      tools: TOOLS,
      max_tool_calls: 1,
    });
    expect(output.map((item) => ("status" in item ? item.status : ""))).toEqual([
      "completed",
      "failed",
      "completed",
    ]);
  });

  test("allowed domains limit what is found", async () => {
    const engine = scriptedEngine([BROWSING_SCRIPT[1] ?? "", answer]);
    const { client } = createBrowsingApp({ engine });
    await client.responses.create({
      model: MODEL,
      input: "?",
      tools: [{ type: "web_search", filters: { allowed_domains: ["example.org"] } }],
    });
    expect(engine.prompts[1]).toContain("No results.");
  });

  test("uploaded files of a container are refused", async () => {
    const { client } = createBrowsingApp({ engine: scriptedEngine([answer]) });
    const request = client.responses.create({
      model: MODEL,
      input: "?",
      tools: [{ type: "code_interpreter", container: { type: "auto", file_ids: ["file_1"] } }],
    });
    await expect(request).rejects.toThrow(
      "tools[0].container.file_ids: there are no uploaded files here",
    );
  });

  test("a tool that this gateway does not have is left out, as before", async () => {
    const engine = scriptedEngine([answer]);
    const { client } = createBrowsingApp({ engine, toolbox: { python: () => fakeTool() } });
    await client.responses.create({ model: MODEL, input: "?", tools: TOOLS });
    expect(engine.prompts[0]).not.toContain("## browser");
    expect(engine.prompts[0]).toContain("## python");
  });

  test("a document is checked without its citations", async () => {
    const engine = scriptedEngine([
      BROWSING_SCRIPT[1] ?? "",
      '<|channel|>analysis to=browser.open code<|message|>{"id":0}<|call|>',
      '<|channel|>final<|message|>{"rate":"0.5%【1†L4】"}<|return|>',
    ]);
    const { client } = createBrowsingApp({ engine });
    const response = await client.responses.create({
      model: MODEL,
      input: "?",
      tools: TOOLS,
      text: { format: { type: "json_object" } },
    });
    expect(response.output_text).toBe('{"rate":"0.5%"}');
    expect(response.output.at(-1)).toMatchObject({ content: [{ annotations: [] }] });
  });
});
