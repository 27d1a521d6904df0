import { describe, expect, it } from "vitest";
import { argumentsOf, planCalls, remainingCalls } from "../../../src/engines/demo/plan.ts";
import type { DemoTool, Schema } from "../../../src/engines/demo/signature.ts";

function tool(name: string, properties: Record<string, Schema> = {}): DemoTool {
  return { name, parameters: { type: "object", properties, required: Object.keys(properties) } };
}

function names(question: string, offered: readonly string[]): string[] {
  return planCalls(
    question,
    offered.map((name) => tool(name)),
  ).map((call) => call.tool.name);
}

function inputs(
  question: string,
  tools: readonly DemoTool[],
  results: readonly string[] = [],
): unknown[] {
  return planCalls(question, tools).map((call) => JSON.parse(argumentsOf(call, results)));
}

describe("which tools are mentioned", () => {
  it.each<[string, readonly string[], readonly string[]]>([
    ["What is the weather in Oslo?", ["get_weather"], ["get_weather"]],
    ["what's the WEATHER?", ["getWeather"], ["getWeather"]],
    ["Hello!", ["get_weather"], []],
    ["Please get it for me", ["get_weather"], []],
    ["Use b_b, then a_a", ["a_a", "b_b"], ["b_b", "a_a"]],
    ["get_weather here and get_weather there", ["get_weather"], ["get_weather", "get_weather"]],
    ["Call get_weather for the time being", ["get_time", "get_weather"], ["get_weather"]],
    ["get_weather_alerts for Oslo", ["get_weather", "get_weather_alerts"], ["get_weather_alerts"]],
    ["Any weather today?", ["get_weather_alerts", "get_weather"], ["get_weather"]],
    ["Any weather alerts?", ["get_weather_alerts", "get_weather"], ["get_weather_alerts"]],
    ["Calculate my orders", ["list_order", "calculator"], ["calculator", "list_order"]],
    ["add 2 and 3", ["add"], ["add"]],
    ["The address", ["add"], []],
    ["`mcp.search-web`!", ["mcp.search-web"], ["mcp.search-web"]],
    ["天気_取得 please", ["天気_取得"], ["天気_取得"]],
  ])("%s", (question, offered, expected) => {
    expect(names(question, offered)).toEqual(expected);
  });
});

describe("arguments", () => {
  const string = { type: "string" };
  const number = { type: "number" };

  it.each<[string, string, DemoTool, unknown]>([
    [
      "a place",
      "What is the weather in New York?",
      tool("get_weather", { location: string }),
      { location: "New York" },
    ],
    [
      "a place that comes first",
      "In Oslo, how is the weather?",
      tool("get_weather", { location: string }),
      { location: "Oslo" },
    ],
    [
      "a place in small letters",
      "weather in oslo?",
      tool("get_weather", { city: string }),
      { city: "oslo" },
    ],
    [
      "numbers in order",
      "add 2 and -3.5",
      tool("add", { a: number, b: number }),
      { a: 2, b: -3.5 },
    ],
    [
      "numbers, but not of steps",
      "Step 1: add 2 and 3",
      tool("add", { a: number, b: number }),
      { a: 2, b: 3 },
    ],
    [
      "quotations in order",
      'translate "hi" to "Norwegian"',
      tool("translate", { text: string, to: string }),
      { text: "hi", to: "Norwegian" },
    ],
    [
      "what is named",
      "get_order, order id: A-17, count = 3",
      tool("get_order", { count: number, order_id: string }),
      { count: 3, order_id: "A-17" },
    ],
    [
      "an identifier that looks like one",
      "Get order A-17 for Ada",
      tool("get_order", { order_id: string }),
      { order_id: "A-17" },
    ],
    [
      "the clause itself",
      "search the web for cats",
      tool("search", { query: string }),
      { query: "search the web for cats" },
    ],
    [
      "a list",
      "get_weather in Oslo",
      tool("get_weather", { cities: { type: "array", items: string } }),
      { cities: ["Oslo"] },
    ],
    [
      "a word of an enumeration",
      "weather in Kelvin",
      tool("get_weather", { unit: { type: "string", enum: ["celsius", "kelvin"] } }),
      { unit: "kelvin" },
    ],
    [
      "nothing to go by",
      "weather",
      tool("get_weather", { city: string, days: number }),
      { city: "example", days: 1 },
    ],
  ])("take %s", (_, question, offered, expected) => {
    expect(inputs(question, [offered])).toEqual([expected]);
  });

  it("come from the part of the question that is about the call", () => {
    const tools = [tool("get_weather", { city: string }), tool("get_time", { city: string })];
    expect(inputs("get_weather in Oslo and get_time in Turin", tools)).toEqual([
      { city: "Oslo" },
      { city: "Turin" },
    ]);
  });

  it("come from earlier results when these have the name", () => {
    const tools = [tool("list_orders", { user_id: string, page: number })];
    const results = ["not JSON", '{"user":{"user_id":"u_7"},"page":4}'];
    expect(inputs("list_orders of Ada", tools, results)).toEqual([{ user_id: "u_7", page: 4 }]);
  });

  it("are an empty object for a tool that takes none", () => {
    expect(inputs("now", [{ name: "now", parameters: undefined }])).toEqual([{}]);
  });
});

describe("the rest of a plan", () => {
  it("contains each call that has not been made, however often it was planned", () => {
    const plan = planCalls("a_a, b_b, a_a", [tool("a_a"), tool("b_b")]);
    const made = ["a_a", "unplanned"].map((name) => ({
      tool: name,
      input: "{}",
      result: undefined,
    }));
    const left = remainingCalls(plan, made);
    expect(left.map((call) => call.tool.name)).toEqual(["b_b", "a_a"]);
  });
});
