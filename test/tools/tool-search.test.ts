import { describe, expect, test } from "vitest";
import { fromPlainJson } from "../../src/harmony/index.ts";
import { searchPattern } from "../../src/json-schema/index.ts";
import { DeferredFunctions } from "../../src/tools/tool-search/deferred-functions.ts";
import { WordRanking } from "../../src/tools/tool-search/ranking.ts";
import { createToolSearch } from "../../src/tools/tool-search/tool.ts";

const SESSION = {
  tenant: "t",
  turnId: "1",
  saved: undefined,
  signal: new AbortController().signal,
};

interface Given {
  readonly name: string;
  readonly description?: string;
  readonly parameters?: Readonly<Record<string, unknown>>;
}

async function search(tools: readonly Given[], query: string, options: object = {}) {
  const functions = tools.map(({ name, description = "", parameters = {} }) => ({
    name,
    recipient: `functions.${name}`,
    shown: { name, description, parameters: fromPlainJson(parameters) },
  }));
  const deferred = new DeferredFunctions(functions, "own");
  const tool = createToolSearch({ deferred, isPattern: false, ...options });
  const run = await tool.open(SESSION);
  const call = { id: "1", recipient: "functions.tool_search", body: JSON.stringify({ query }) };
  const { shown } = await run.run(call, SESSION.signal);
  return shown.type === "tools" ? shown.found : undefined;
}

const TOOLS: readonly Given[] = [
  { name: "get_weather", description: "Forecast for a place" },
  { name: "listOrders", description: "All orders of a customer" },
  {
    name: "convert",
    description: "Changes money",
    parameters: { properties: { currency: { description: "Three letters, such as EUR" } } },
  },
  { name: "翻訳する", description: "日本語の文を翻訳" },
];

describe("a search by words", () => {
  test.each([
    ["a word of the name", "weather", "get_weather"],
    ["another form of it", "forecasts", "get_weather"],
    ["a word inside a name in camel case", "order", "listOrders"],
    ["the name of a parameter", "currencies", "convert"],
    ["the description of a parameter", "letter", "convert"],
    ["the name itself", "listOrders", "listOrders"],
    ["its recipient", "functions.convert", "convert"],
    ["a script without spaces", "翻訳", "翻訳する"],
  ])("%s", async (_, query, found) => {
    expect((await search(TOOLS, query))?.[0]).toBe(found);
  });

  test.each(["", "   ", "xyzzy", "!?", "\u{1f4a9}"])("%j finds nothing", async (query) => {
    expect(await search(TOOLS, query)).toEqual([]);
  });

  test("a rare word counts more than a frequent one, and the order of equals is that of the request", () => {
    const ranking = new WordRanking();
    for (const text of ["get user", "get order", "get order"]) ranking.add(text);
    expect(ranking.rank("get order")).toEqual([1, 2, 0]);
  });

  test("finds five functions, or as many as the request allows, and never more than twenty", async () => {
    const many = Array.from({ length: 50 }, (_, index) => ({ name: `get_${index}` }));
    expect(await search(many, "get")).toHaveLength(5);
    expect(await search(many, "get", { maxResults: 7 })).toHaveLength(7);
    expect(await search(many, "get", { maxResults: 50 })).toHaveLength(20);
  });
});

describe("a search by a regular expression", () => {
  test.each([
    ["get_.*|listOrders", ["get_weather", "listOrders"]],
    ["(?i)FORECAST", ["get_weather"]],
    ["^CONV", ["convert"]],
    ["\\bmoney\\b", ["convert"]],
  ])("%s", async (pattern, found) => {
    expect((await search(TOOLS, pattern, { isPattern: true }))?.toSorted()).toEqual(found);
  });

  test.each(["(weather", "(?P<x>weather)", "weather(?=x)", "weather tomorrow"])(
    "%s is searched for as words: it matches nothing, or is not supported",
    async (pattern) => {
      expect(await search(TOOLS, pattern, { isPattern: true })).toEqual(["get_weather"]);
    },
  );

  test.each([
    "(a*)*b",
    "(a|a)*$x",
    "(a?){200}a{200}",
    "(.*a){50}",
    "(a{1000}){9}",
    "x".repeat(201),
  ])("%s costs a bounded number of steps", (pattern) => {
    const texts = Array.from({ length: 512 }, () => "a".repeat(2000));
    let slices = 0;
    const steps = searchPattern(pattern, texts);
    for (let step = steps.next(); !step.done; step = steps.next()) slices++;
    expect(slices).toBeLessThanOrEqual(20);
  });
});

test("a schema that is deep, wide or odd is read in part", async () => {
  let deep: Record<string, unknown> = { properties: { bottom: {} } };
  for (let level = 0; level < 60; level++) deep = { properties: { inner: deep } };
  const wide = Object.fromEntries(Array.from({ length: 5000 }, (_, index) => [`p${index}`, {}]));
  const odd = { properties: { a: true, b: null, c: { description: 5 } }, items: [] };
  const tools = [deep, { properties: wide }, odd].map((parameters, index) => ({
    name: `tool_${index}`,
    parameters,
  }));
  expect(await search(tools, "bottom")).toEqual([]);
  expect(await search(tools, "p7")).toEqual(["tool_1"]);
});
