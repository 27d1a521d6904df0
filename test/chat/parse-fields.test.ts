/** Text that people paste into the chat's fields for tools and schemas. */
import { describe, expect, test } from "vitest";
import { parseSchema, parseTools } from "../../web/chat/parse-fields.ts";

test("tools in the shape of any API become functions, others are hosted by the gateway", () => {
  const parameters = { type: "object", properties: {} };
  const given = [
    { type: "function", function: { name: "a", parameters } },
    { type: "function", name: "b", parameters },
    { name: "c", input_schema: parameters },
    { type: "web_search" },
  ];
  const { tools, hosted } = parseTools(JSON.stringify(given));
  expect(tools.map(({ name }) => name)).toEqual(["a", "b", "c"]);
  expect(hosted).toEqual([{ type: "web_search" }]);
  expect(parseTools("  ")).toEqual({ tools: [] });
});

describe("what is wrong is said in a sentence", () => {
  test.each([
    ["[1]", "Tools: each must be an object with a name, or a type that the gateway runs."],
    [
      '{"type":"function","function":{"name":"no spaces"}}',
      "Tools: a function needs a name of letters, digits, _ . or -.",
    ],
  ])("of tools: %s", (given, sentence) => {
    expect(() => parseTools(given)).toThrow(sentence);
  });

  test("of JSON", () => {
    expect(() => parseTools("{")).toThrow(/^Tools: this is not JSON\. ./);
    expect(() => parseSchema("[")).toThrow(/^Schema: this is not JSON\. ./);
  });

  test("of a schema", () => {
    expect(() => parseSchema("[]")).toThrow("Schema: it must be an object.");
  });
});
