import { describe, expect, test } from "vitest";
import * as z from "zod";
import { checkLimits, refuseManyValues } from "../../../src/api/request/limits.ts";

const MAX_DEPTH = 64;
const MAX_VALUES = 250_000;

const LIMITS = {
  messageLists: ["messages", "input"],
  toolLists: ["tools", "functions"],
  maxMessages: 3,
  maxTools: 2,
};

/** A value in nested lists. */
function nested(levels: number, value: unknown = 1): unknown {
  return levels === 0 ? value : [nested(levels - 1, value)];
}

/** A list with this number of values, itself included. */
function listOf(values: number): number[] {
  return Array(values - 1).fill(0);
}

const refused = z.object({ status: z.literal(400), message: z.string(), param: z.string() });

function refusal(body: object): { message: string; param: string } | undefined {
  try {
    checkLimits(body, LIMITS);
  } catch (error) {
    const { message, param } = refused.parse(error);
    return { message, param };
  }
  return undefined;
}

test.each<[string, object]>([
  ["as many messages as allowed", { messages: [1, 2, 3] }],
  ["an input that is text", { input: "a long text is no list" }],
  ["lists that are not counted", { stop: [1, 2, 3, 4, 5] }],
  ["nesting to the last level allowed", { a: nested(MAX_DEPTH - 1) }],
  ["an empty container at the last level", { a: nested(MAX_DEPTH - 2, {}) }],
  ["as many parts as allowed", { messages: [{ content: [1, 2, 3] }, { content: [4, 5, 6] }, 0] }],
  ["as many values as allowed", { a: listOf(MAX_VALUES - 3), b: { c: [1] } }],
])("%s may pass", (_, body) => {
  expect(refusal(body)).toBeUndefined();
});

test.each<[object, string, string]>([
  [{ messages: [1, 2, 3, 4] }, "messages", "messages: has 4 entries, more than the 3 allowed."],
  [{ input: [1, 2, 3, 4] }, "input", "input: has 4 entries, more than the 3 allowed."],
  [{ tools: [1, 2, 3] }, "tools", "tools: has 3 entries, more than the 2 allowed."],
  [{ functions: [1, 2, 3] }, "functions", "functions: has 3 entries, more than the 2 allowed."],
  [
    { messages: [{ content: [1, 2, 3] }, { content: [4, 5, 6, 7] }] },
    "messages",
    "messages: has more than the 6 parts allowed in all of its entries together.",
  ],
])("%j is refused by name", (body, param, message) => {
  expect(refusal(body)).toEqual({ message, param });
});

test.each<[string, object, string, string]>([
  ["nesting", { a: nested(MAX_DEPTH) }, "a", "a: is nested deeper than 64 levels."],
  [
    "an empty container",
    { a: nested(MAX_DEPTH - 1, {}) },
    "a",
    "a: is nested deeper than 64 levels.",
  ],
  [
    "values of several members",
    { a: listOf(MAX_VALUES - 3), b: { c: [1, 2] } },
    "b",
    "b: takes the request over the 250000 JSON values allowed.",
  ],
  [
    "values of one list",
    { a: 1, strays: listOf(MAX_VALUES) },
    "strays",
    "strays: takes the request over the 250000 JSON values allowed.",
  ],
])("%s beyond the limit is refused by name", (_, body, param, message) => {
  expect(refusal(body)).toEqual({ message, param });
});

test("nesting that would overflow a recursive check is refused", () => {
  const depth = 200_000;
  const body = JSON.parse(`{"a":${"[".repeat(depth)}${"]".repeat(depth)}}`);
  expect(refusal(body)?.param).toBe("a");
});

test("a list that is too long is refused without reading its items", () => {
  let looked = 0;
  const strays = new Proxy(Array(1_000_000).fill(0), {
    get(list, key, receiver): unknown {
      looked++;
      return Reflect.get(list, key, receiver);
    },
  });
  expect(refusal({ strays })?.param).toBe("strays");
  expect(looked).toBeLessThan(10);
});

describe("values are counted in the text, before it is parsed", () => {
  const members = (count: number) =>
    Array.from({ length: count }, (_, index) => `"${index}":[]`).join(" , ");

  test.each([
    ["empty objects and lists", (count: number) => `{${members(count)}}`],
    ["numbers", (count: number) => `{"a":[${"1,".repeat(count - 2)}1]}`],
    [
      "texts of separators",
      (count: number) => `{"a":["${'\\\\\\",[{'.repeat(300_000)}",${"[],".repeat(count - 3)}[]]}`,
    ],
  ])("%s: as many as allowed pass, twice as many are refused", (_, textOf) => {
    const passes = textOf(MAX_VALUES);
    expect(refusal(JSON.parse(passes))).toBeUndefined();
    expect(() => [...refuseManyValues(passes)]).not.toThrow();
    expect(() => [...refuseManyValues(textOf(2 * MAX_VALUES + 2))]).toThrow(
      "The request has more than the 250000 JSON values allowed.",
    );
  });

  test("of a long text in stages", () => {
    const stages = [
      ...refuseManyValues(`["${"a".repeat(1_000_000)}",${"\n".repeat(2_000_000)}1]`),
      ...refuseManyValues(`["${'\\"'.repeat(1_000_000)}"]`),
    ];
    expect(stages.length).toBeGreaterThan(8);
  });
});
