import { describe, expect, test } from "vitest";
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

  test("the thoughts of a loop are restored by call id when the client drops them", async () => {
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
      "<|channel|>analysis<|message|>Ask the server.<|end|><|start|>assistant to=mcp__weather.get_weather",
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

  test("of several namespaces, the model says which tool a forced call goes to", async () => {
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

  test("strict tools are held to their schema, and a wrong call is tried again", async () => {
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
