import { describe, expect, test } from "vitest";
import { APPLY_PATCH_DEFINITION } from "../../helpers/apply-patch.ts";
import { scriptedEngine } from "../../helpers/scripted-engine.ts";
import { errorBody } from "./schemas.ts";
import { MODEL, readEvents, responsesApp } from "./support.ts";

const HI = "<|channel|>final<|message|>Hi.<|return|>";

const CITY = {
  type: "object",
  properties: { city: { type: "string" } },
  required: ["city"],
  additionalProperties: false,
};

const WEATHER = {
  type: "namespace",
  name: "mcp__weather",
  description: "Forecasts.",
  tools: [
    { type: "function", name: "get_weather", description: "Now.", parameters: CITY },
    { type: "function", name: "list", parameters: { type: "object", properties: {} } },
  ],
};

const PLAIN = { type: "function", name: "f" };

function calling(recipient: string, body = '{"city":"Paris"}'): string {
  return `<|channel|>commentary to=${recipient} <|constrain|>json<|message|>${body}<|call|>`;
}

async function promptFor(body: object, settings = {}): Promise<string> {
  const engine = scriptedEngine([HI]);
  await responsesApp({ engine, settings }).create({ input: "Hi.", ...body });
  return engine.prompts[0] ?? "";
}

async function refusal(body: object, settings = {}) {
  const engine = scriptedEngine([HI]);
  const app = responsesApp({ engine, settings });
  const request = { model: MODEL, input: "Hi.", ...body };
  const response = await app.send("POST", "/v1/responses", request);
  expect(engine.prompts).toEqual([]);
  return { status: response.status, ...errorBody.parse(await response.json()).error };
}

describe("a namespace", () => {
  test("is shown to the model as one of its own", async () => {
    const prompt = await promptFor({ tools: [WEATHER, PLAIN] });
    expect(prompt).toContain("## functions\n\nnamespace functions {\n\ntype f = () => any;\n\n}");
    expect(prompt).toContain(
      "## mcp__weather\n\n// Forecasts.\nnamespace mcp__weather {\n\n// Now.\ntype get_weather = (_: {\ncity: string,\n}) => any;\n\n",
    );
  });

  test("or flattened into functions", async () => {
    const prompt = await promptFor({ tools: [WEATHER, PLAIN] }, { toolNamespaces: "flat" });
    expect(prompt).toContain("type mcp__weather__get_weather = (_: {\ncity: string,\n}) => any;");
    expect(prompt).not.toContain("namespace mcp__weather");
  });

  test("called `functions` holds plain functions", async () => {
    const prompt = await promptFor({ tools: [{ ...WEATHER, name: "functions" }] });
    expect(prompt).toContain("## functions\n\nnamespace functions {\n\n// Now.\ntype get_weather");
  });

  test.each([
    ["mcp__weather.get_weather", "own"],
    ["mcp__weather.get_weather", "flat"],
    ["functions.mcp__weather.get_weather", "own"],
    ["functions.mcp__weather__get_weather", "flat"],
    ["functions.mcp__weather__get_weather", "own"],
    ["mcp__weather__get_weather", "own"],
    ["functions.get_weather", "own"],
    ["get_weather", "flat"],
  ])("a call to %s, shown as %s, names its tool in two fields", async (recipient, style) => {
    const engine = scriptedEngine([calling(recipient)]);
    const app = responsesApp({ engine, settings: { toolNamespaces: style } });
    const { output } = await app.create({ input: "Hi.", tools: [PLAIN, WEATHER] });
    expect(output).toEqual([
      expect.objectContaining({
        type: "function_call",
        namespace: "mcp__weather",
        name: "get_weather",
        arguments: '{"city":"Paris"}',
      }),
    ]);
  });

  test("plain functions have no namespace", async () => {
    const app = responsesApp({ engine: scriptedEngine([calling("functions.f", "{}")]) });
    const { output } = await app.create({ input: "Hi.", tools: [PLAIN, WEATHER] });
    expect(output[0]).toMatchObject({ type: "function_call", name: "f" });
    expect(output[0]).not.toHaveProperty("namespace");
  });

  test("the events of a call carry both fields", async () => {
    const engine = scriptedEngine([calling("mcp__weather.get_weather")]);
    const request = { model: MODEL, input: "Hi.", tools: [WEATHER], stream: true };
    const response = await responsesApp({ engine }).send("POST", "/v1/responses", request);
    const items = (await readEvents(response)).flatMap((event) =>
      "item" in event && event.type.startsWith("response.output_item") ? [event.item] : [],
    );
    expect(items).toEqual([
      expect.objectContaining({ namespace: "mcp__weather", name: "get_weather", arguments: "" }),
      expect.objectContaining({ namespace: "mcp__weather", name: "get_weather" }),
    ]);
  });

  test.each([
    ["own", "mcp__weather.get_weather"],
    ["flat", "functions.mcp__weather__get_weather"],
  ])("a call in the history is written as it is offered: %s", async (style, recipient) => {
    const input = [
      { role: "user", content: "Weather?" },
      {
        type: "function_call",
        call_id: "c1",
        namespace: "mcp__weather",
        name: "get_weather",
        arguments: '{"city":"Paris"}',
      },
      {
        type: "function_call_output",
        call_id: "c1",
        output: [
          { type: "input_text", text: "Wall time: 0.1 s\nOutput:" },
          { type: "input_text", text: "Sunny." },
        ],
      },
    ];
    const prompt = await promptFor({ input, tools: [WEATHER] }, { toolNamespaces: style });
    expect(prompt).toContain(
      `<|start|>assistant to=${recipient}<|channel|>commentary <|constrain|>json<|message|>{"city":"Paris"}<|call|>` +
        `<|start|>${recipient} to=assistant<|channel|>commentary<|message|>Wall time: 0.1 s\nOutput:Sunny.<|end|>`,
    );
  });

  test("restores the reasoning of a loop by call id when the client drops it", async () => {
    const engine = scriptedEngine([
      `<|channel|>analysis<|message|>Ask the server.<|end|><|start|>assistant${calling("mcp__weather.get_weather")}`,
      HI,
    ]);
    const app = responsesApp({ engine });
    const { output } = await app.create({ input: "Hi.", tools: [WEATHER] });
    const call = output.find((item) => item.type === "function_call");
    await app.create({
      tools: [WEATHER],
      input: [
        { role: "user", content: "Hi." },
        call,
        { type: "function_call_output", call_id: call?.call_id, output: "Sunny." },
      ],
    });
    expect(engine.prompts[1]).toContain(
      "<|channel|>analysis<|message|>Ask the server.<|end|><|start|>assistant<|channel|>commentary to=mcp__weather.get_weather",
    );
  });

  test.each([
    [{ type: "function", namespace: "mcp__weather", name: "get_weather" }],
    [{ type: "function", name: "get_weather" }],
    [{ type: "function", name: "mcp__weather__get_weather" }],
    [
      {
        type: "allowed_tools",
        mode: "required",
        tools: [{ type: "function", name: "get_weather" }],
      },
    ],
  ])("a call can be forced: %j", async (choice) => {
    const engine = scriptedEngine(["Paris.<|end|>", '{"city":"Paris"}<|call|>']);
    const tools = [PLAIN, WEATHER];
    const { output } = await responsesApp({ engine }).create({
      input: "Hi.",
      tools,
      tool_choice: choice,
    });
    expect(engine.prompts[1]).toMatch(
      / to=mcp__weather\.get_weather<\|channel\|>commentary <\|constrain\|>json<\|message\|>$/,
    );
    expect(output.at(-1)).toMatchObject({ namespace: "mcp__weather", name: "get_weather" });
  });

  test("of several namespaces, the model chooses which tool a forced call is to", async () => {
    const engine = scriptedEngine(
      ["Hm.<|end|>", "=mcp__weather.get_weather<|channel|>", '{"city":"Paris"}<|call|>'],
      { capabilities: { constraints: ["choice"] } },
    );
    const { output } = await responsesApp({ engine }).create({
      input: "Hi.",
      tools: [PLAIN, WEATHER],
      tool_choice: "required",
    });
    expect(engine.prompts[1]).toMatch(/<\|start\|>assistant to$/);
    expect(engine.requests[1]?.constraint).toEqual({
      type: "choice",
      options: ["=functions.f", "=mcp__weather.get_weather", "=mcp__weather.list"],
    });
    expect(output.at(-1)).toMatchObject({ namespace: "mcp__weather", name: "get_weather" });
  });

  test("strict tools are validated against their schema, and an invalid call is retried", async () => {
    const strict = { ...WEATHER, tools: [{ ...WEATHER.tools[0], strict: true }] };
    const engine = scriptedEngine([
      calling("mcp__weather.get_weather", '{"town":1}'),
      '{"city":"Paris"}<|call|>',
    ]);
    const { output } = await responsesApp({ engine }).create({ input: "Hi.", tools: [strict] });
    expect(engine.prompts[1]).toContain("<|start|>mcp__weather.get_weather to=assistant");
    expect(output).toEqual([expect.objectContaining({ arguments: '{"city":"Paris"}' })]);
  });

  test("is echoed in the response", async () => {
    const engine = scriptedEngine([HI]);
    const { tools } = await responsesApp({ engine }).create({ input: "Hi.", tools: [WEATHER] });
    expect(tools).toMatchObject([
      { ...WEATHER, tools: [{ name: "get_weather" }, { name: "list" }] },
    ]);
  });

  test.each<[string, object, string]>([
    ["without a name", { tools: [{ ...WEATHER, name: undefined }] }, "tools[0].name"],
    ["with a dot in its name", { tools: [{ ...WEATHER, name: "a.b" }] }, "tools[0].name"],
    ["twice the same", { tools: [WEATHER, WEATHER] }, "tools"],
    [
      "with a schema that cannot be enforced",
      {
        tools: [
          { ...WEATHER, tools: [{ ...PLAIN, strict: true, parameters: { $ref: "#/nowhere" } }] },
        ],
      },
      "tools[0].tools[0].parameters",
    ],
    [
      "and a choice of a tool that is in two",
      {
        tools: [WEATHER, { ...WEATHER, name: "other" }],
        tool_choice: { type: "function", name: "list" },
      },
      "tool_choice.name",
    ],
  ])("%s is refused", async (_, body, param) => {
    expect(await refusal(body)).toMatchObject({ status: 400, param });
  });

  test("its tools count for the limit", async () => {
    const tools = [WEATHER, { ...WEATHER, name: "other" }];
    expect(await refusal({ tools }, { maxTools: 3 })).toMatchObject({
      status: 400,
      param: "tools",
    });
  });
});

const APPLY_PATCH = {
  type: "custom",
  name: "apply_patch",
  description: "Edits files.",
  format: { type: "grammar", syntax: "lark", definition: APPLY_PATCH_DEFINITION },
};

const PATCH = '*** Begin Patch\n*** Add File: a.txt\n+{"a": "b"}\n*** End Patch\n';

function patching(body: string, contentType = ""): string {
  return `<|channel|>commentary to=functions.apply_patch${contentType}<|message|>${body}<|call|>`;
}

describe("a custom tool", () => {
  test("is shown as a function of one string, and its patch format by name", async () => {
    const prompt = await promptFor({ tools: [APPLY_PATCH] });
    expect(prompt).toContain("type apply_patch = (_: string) => any;");
    expect(prompt).toContain("// Edits files.\n// \n// The input is the patch itself");
    expect(prompt).not.toContain("add_hunk");
  });

  test.each([
    ["lark", 'start: "a"', 'notation:\n// start: "a"\ntype f'],
    ["regex", "a+b", "regular expression: a+b\ntype f"],
  ])("any other format of it is shown to the model: %s", async (syntax, definition, text) => {
    const format = { type: "grammar", syntax, definition };
    expect(await promptFor({ tools: [{ type: "custom", name: "f", format }] })).toContain(text);
  });

  test.each<[string, string, string]>([
    ["as it is", patching(PATCH), PATCH],
    ["as a JSON string", patching(JSON.stringify(PATCH), " <|constrain|>json"), PATCH],
    ["as an object", patching(JSON.stringify({ input: PATCH }), " <|constrain|>json"), PATCH],
    ["as code that looks like JSON", patching('{"a": 1}'), '{"a": 1}'],
    ["as code that begins like JSON", patching("{ f(); }"), "{ f(); }"],
    ["with brackets at its end", patching("f(x)}]"), "f(x)}]"],
  ])("its input is read: %s", async (_, script, input) => {
    const app = responsesApp({ engine: scriptedEngine([script, script]) });
    const request = { input: "Hi.", tools: [APPLY_PATCH] };
    const plain = await app.create(request);
    const item = { type: "custom_tool_call", name: "apply_patch", input };
    expect(plain.output).toEqual([expect.objectContaining(item)]);
    const streamed = await app.stream(request);
    expect(streamed.output).toEqual([expect.objectContaining(item)]);
  });

  test("its input is streamed once it is known not to be JSON", async () => {
    const engine = scriptedEngine([patching("ab cd"), patching('"ab cd"')]);
    const app = responsesApp({ engine });
    const deltasOf = async () => {
      const request = { model: MODEL, input: "Hi.", tools: [APPLY_PATCH], stream: true };
      const events = await readEvents(await app.send("POST", "/v1/responses", request));
      return events.flatMap((event) =>
        event.type === "response.custom_tool_call_input.delta" && "delta" in event
          ? [event.delta]
          : [],
      );
    };
    expect(await deltasOf()).toEqual(["ab", " cd"]);
    expect(await deltasOf()).toEqual(["ab cd"]);
  });

  test("its calls and results are rendered as the model wrote them", async () => {
    const input = [
      { role: "user", content: "Edit." },
      { type: "custom_tool_call", call_id: "c1", name: "apply_patch", input: PATCH },
      { type: "custom_tool_call_output", call_id: "c1", output: "Done!" },
    ];
    expect(await promptFor({ input, tools: [APPLY_PATCH] })).toContain(
      `<|start|>assistant to=functions.apply_patch<|channel|>commentary<|message|>${PATCH}<|call|>` +
        "<|start|>functions.apply_patch to=assistant<|channel|>commentary<|message|>Done!<|end|>",
    );
  });

  test("can be continued from a stored response, including its reasoning", async () => {
    const engine = scriptedEngine([
      `<|channel|>analysis<|message|>Patch it.<|end|><|start|>assistant${patching(PATCH)}`,
      HI,
    ]);
    const app = responsesApp({ engine });
    const first = await app.create({ input: "Hi.", tools: [APPLY_PATCH] });
    const call = first.output.find((item) => item.type === "custom_tool_call");
    await app.create({
      previous_response_id: first.id,
      tools: [APPLY_PATCH],
      input: [{ type: "custom_tool_call_output", call_id: call?.call_id, output: "Done!" }],
    });
    expect(engine.prompts[1]).toContain(
      "Patch it.<|end|><|start|>assistant<|channel|>commentary to=functions.apply_patch<|message|>*** Begin",
    );
  });

  test("can be forced: its call is opened as plain text", async () => {
    const engine = scriptedEngine(["Hm.<|end|>", `${PATCH}<|call|>`]);
    const { output } = await responsesApp({ engine }).create({
      input: "Hi.",
      tools: [PLAIN, APPLY_PATCH],
      tool_choice: { type: "custom", name: "apply_patch" },
    });
    expect(engine.prompts[1]).toMatch(
      / to=functions\.apply_patch<\|channel\|>commentary<\|message\|>$/,
    );
    expect(output.at(-1)).toMatchObject({ type: "custom_tool_call", input: PATCH });
  });

  test.each([
    [
      "grammar",
      APPLY_PATCH.format,
      { type: "grammar", grammar: expect.stringContaining("root ::=") },
    ],
    [
      "regex",
      { type: "grammar", syntax: "regex", definition: "a+" },
      { type: "regex", pattern: "a+" },
    ],
    [
      "lark",
      { type: "grammar", syntax: "lark", definition: 'start: "a"' },
      { type: "lark", grammar: 'start: "a"' },
    ],
  ] as const)("its format is held by an engine that can: %s", async (type, format, constraint) => {
    const engine = scriptedEngine(
      [patching(""), "text<|call|>"].map((script) => script.replace("<|call|>", "<|call|>")),
      { capabilities: { constraints: [type] } },
    );
    const { output } = await responsesApp({ engine }).create({
      input: "Hi.",
      tools: [{ ...APPLY_PATCH, format }],
    });
    expect(engine.requests.map((request) => request.constraint)).toEqual([undefined, constraint]);
    expect(output).toEqual([expect.objectContaining({ input: "text" })]);
  });

  test("can belong to a namespace, like a function", async () => {
    const engine = scriptedEngine([
      "<|channel|>commentary to=functions.mcp__files__edit<|message|>x<|call|>",
    ]);
    const tools = [
      { type: "namespace", name: "mcp__files", tools: [{ type: "custom", name: "edit" }] },
    ];
    const { output } = await responsesApp({ engine }).create({ input: "Hi.", tools });
    expect(output).toEqual([
      expect.objectContaining({
        type: "custom_tool_call",
        namespace: "mcp__files",
        name: "edit",
        input: "x",
      }),
    ]);
  });

  test("with a grammar of megabytes is refused", async () => {
    const format = { type: "grammar", syntax: "lark", definition: "a".repeat(65_537) };
    expect(await refusal({ tools: [{ ...APPLY_PATCH, format }] })).toMatchObject({
      status: 400,
      param: "tools[0].format.definition",
    });
  });
});

const SEARCH = {
  type: "tool_search",
  execution: "client",
  description: "Finds tools.",
  parameters: {
    type: "object",
    properties: { query: { type: "string" }, limit: { type: "number" } },
    required: ["query"],
  },
};

describe("a tool search that the client runs", () => {
  test("is a function of the model, and its call an item with an object", async () => {
    const script = calling("functions.tool_search", '{"query": "weather", "limit": 8}');
    const engine = scriptedEngine([script, script]);
    const app = responsesApp({ engine });
    const request = { input: "Hi.", tools: [SEARCH] };
    const call = {
      type: "tool_search_call",
      execution: "client",
      arguments: { query: "weather", limit: 8 },
    };
    expect((await app.create(request)).output).toEqual([expect.objectContaining(call)]);
    expect((await app.stream(request)).output).toEqual([expect.objectContaining(call)]);
    expect(engine.prompts[0]).toContain(
      "// Finds tools.\ntype tool_search = (_: {\nquery: string,\nlimit?: number,\n}) => any;",
    );
  });

  const found = [
    { role: "user", content: "Weather?" },
    {
      type: "tool_search_call",
      call_id: "c1",
      status: "completed",
      execution: "client",
      arguments: { query: "weather" },
    },
    {
      type: "tool_search_output",
      call_id: "c1",
      status: "completed",
      execution: "client",
      tools: [
        {
          ...WEATHER,
          tools: WEATHER.tools.map((tool) => ({ ...tool, defer_loading: true })),
        },
      ],
    },
  ];

  test("tools it has found are offered from then on", async () => {
    const engine = scriptedEngine([calling("mcp__weather.get_weather"), HI]);
    const app = responsesApp({ engine });
    const first = await app.create({ input: found, tools: [SEARCH] });
    expect(first.output).toMatchObject([{ namespace: "mcp__weather", name: "get_weather" }]);
    const [prompt = ""] = engine.prompts;
    expect(prompt).toContain(
      "<|start|>functions.tool_search to=assistant<|channel|>commentary<|message|>" +
        "Tools found: mcp__weather.get_weather, mcp__weather.list<|end|>" +
        "<|start|>developer<|message|># Tools\n\n## mcp__weather",
    );
    expect(prompt.split("namespace mcp__weather {")).toHaveLength(2);

    const call = first.output[0];
    if (call?.type !== "function_call") throw new Error("no call");
    await app.create({
      previous_response_id: first.id,
      tools: [SEARCH],
      input: [{ type: "function_call_output", call_id: call.call_id, output: "Sunny." }],
    });
    expect(engine.prompts[1]).toContain(prompt.slice(0, prompt.lastIndexOf("<|start|>assistant")));
  });

  test("a tool that is found again is not offered twice", async () => {
    const again = found.slice(1).map((item) => ({ ...item, call_id: "c2" }));
    const prompt = await promptFor({ input: [...found, ...again], tools: [SEARCH] });
    expect(prompt.split("namespace mcp__weather {")).toHaveLength(2);
  });

  test("without a call before it, a result is refused", async () => {
    expect(await refusal({ input: found.slice(2), tools: [SEARCH] })).toMatchObject({
      param: "input[0].call_id",
    });
  });

  test("tools found that are not valid are refused with their field", async () => {
    const [question, call, output] = found;
    const broken = { ...output, tools: [{ type: "function", name: "a.b" }] };
    expect(await refusal({ input: [question, call, broken] })).toMatchObject({
      param: "input[2].tools[0].name",
    });
  });
});

describe("tools in the input", () => {
  const added = {
    type: "additional_tools",
    role: "developer",
    tools: [
      { type: "namespace", name: "functions", tools: [PLAIN, { type: "custom", name: "edit" }] },
      WEATHER,
    ],
  };

  test("are rendered with the instructions if nothing precedes them", async () => {
    const input = [
      added,
      { role: "developer", content: "Be brief." },
      { role: "user", content: "Hi." },
    ];
    const prompt = await promptFor({ input });
    expect(prompt).toContain(
      "<|start|>developer<|message|># Instructions\n\nBe brief.\n\n# Tools\n\n## functions",
    );
    expect(prompt).toContain("type edit = (_: string) => any;");
    expect(prompt).toContain("namespace mcp__weather {");
    expect(prompt.match(/<\|start\|>developer/g)).toHaveLength(1);
  });

  test("are called like tools of the request", async () => {
    const engine = scriptedEngine([patching("x").replace("apply_patch", "edit")]);
    const { output } = await responsesApp({ engine }).create({
      input: [added, { role: "user", content: "Hi." }],
    });
    expect(output).toEqual([expect.objectContaining({ type: "custom_tool_call", name: "edit" })]);
    expect(output[0]).not.toHaveProperty("namespace");
  });

  test("are not shown when no tool may be called", async () => {
    const input = [added, { role: "user", content: "Hi." }];
    expect(await promptFor({ input, tool_choice: "none" })).not.toContain("# Tools");
  });

  test("are stored and listed as they were sent", async () => {
    const app = responsesApp({ engine: scriptedEngine([HI]) });
    const { id } = await app.create({ input: [added, { role: "user", content: "Hi." }] });
    const response = await app.send("GET", `/v1/responses/${id}/input_items?order=asc`);
    expect(await response.json()).toMatchObject({ data: [added, { role: "user" }] });
  });
});

describe("tools and items that are left out of a request", () => {
  const tools = [
    { type: "web_search", external_web_access: true },
    { type: "image_generation" },
    { type: "file_search" },
    { ...WEATHER, tools: [PLAIN, { type: "m\u00e4h" }] },
    { type: "web_search" },
  ];

  async function headersOf(body: object, stream = false) {
    const engine = scriptedEngine([HI], { capabilities: { constraints: ["grammar"] } });
    const request = { model: MODEL, input: "Hi.", stream, ...body };
    const response = await responsesApp({ engine }).send("POST", "/v1/responses", request);
    expect(response.status).toBe(200);
    return response.headers;
  }

  test.each([false, true])("are named in a header (stream: %s)", async (stream) => {
    const headers = await headersOf({ tools }, stream);
    expect(headers.get("x-harmony-skipped-tools")).toBe(
      "web_search, image_generation, file_search, mcp__weather.m_h",
    );
    expect(headers.has("x-harmony-skipped-items")).toBe(false);
  });

  test("are counted, with all unknown kinds as one", async () => {
    const app = responsesApp({ engine: scriptedEngine([HI]) });
    await app.create({ input: "Hi.", tools });
    const metrics = await (await app.send("GET", "/metrics")).text();
    expect(metrics).toContain('harmony_gateway_tools_skipped_total{kind="web_search"} 1');
    expect(metrics).toContain('harmony_gateway_tools_skipped_total{kind="other"} 1');
  });

  test("many are named in one header", async () => {
    const many = Array.from({ length: 40 }, (_, index) => ({ type: `k${index}` }));
    const header = (await headersOf({ tools: many })).get("x-harmony-skipped-tools");
    expect(header).toMatch(/k31, and 8 more$/);
  });

  test("include input items", async () => {
    const input = [
      { type: "file_search_call", id: "fs_1" },
      { role: "user", content: "Hi." },
    ];
    const headers = await headersOf({ input });
    expect(headers.get("x-harmony-skipped-items")).toBe("file_search_call");
  });

  test("include tools whose format the engine cannot enforce", async () => {
    const format = { type: "grammar", syntax: "regex", definition: "a+" };
    const custom = { type: "custom", name: "held_not", format };
    const headers = await headersOf({ tools: [APPLY_PATCH, custom] });
    expect(headers.get("x-harmony-unenforced-tools")).toBe("held_not");
  });
});
