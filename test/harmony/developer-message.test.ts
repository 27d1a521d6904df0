import { describe, expect, test } from "vitest";
import { createRenderer, developerText, parseJson } from "../../src/harmony/index.ts";
import { readRenderCases } from "./render-cases.ts";

const functions = [{ name: "now", description: "" }];
const namespaces = [{ key: "functions", name: "functions", functions }];
const tools =
  "# Tools\n\n## functions\n\nnamespace functions {\n\ntype now = () => any;\n\n} // namespace functions";

describe("the developer message", () => {
  test.each([
    ["nothing set", {}, ""],
    ["instructions", { instructions: "Be brief.\n" }, "# Instructions\n\nBe brief.\n"],
    ["empty instructions", { instructions: "" }, "# Instructions\n\n"],
    ["empty lists", { namespaces: [], responseFormats: [] }, ""],
    ["functions", { namespaces }, tools],
    ["both", { instructions: "A", namespaces }, `# Instructions\n\nA\n\n${tools}`],
  ])("%s", (_, content, text) => {
    expect(developerText({ type: "developer", ...content })).toBe(text);
  });

  test("response formats come last, each under its name", () => {
    const responseFormats = [
      { name: "a", description: "One.\nTwo.", schema: parseJson('{ "minimum": 1.50, "2": 1 }') },
      { name: "b", schema: parseJson("true") },
    ];
    expect(
      developerText({ type: "developer", instructions: "A", namespaces, responseFormats }),
    ).toBe(
      `# Instructions\n\nA\n\n${tools}\n\n# Response Formats\n\n## a\n\n// One.\n// Two.\n{"minimum":1.5,"2":1}\n\n## b\n\ntrue`,
    );
  });

  test.each([
    [
      "hr-0229",
      {
        instructions: "You are a helpful shopping assistant",
        responseFormats: [
          {
            name: "shopping_list",
            description: "Items to buy",
            schema: parseJson(
              '{"type":"object","properties":{"items":{"type":"array","items":{"type":"string"}}},"required":["items"]}',
            ),
          },
        ],
      },
    ],
    [
      "hr-0230",
      {
        namespaces: [
          {
            key: "functions",
            name: "functions",
            functions: [
              {
                name: "get_weather",
                description: "Get weather for a city.",
                parameters: parseJson(
                  '{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}',
                ),
              },
            ],
          },
        ],
        responseFormats: [{ name: "out", schema: parseJson('{"type":"object"}') }],
      },
    ],
  ])("%s: the whole body is one text, and gives the ids of the golden case", (id, content) => {
    const { ids } = createRenderer().renderMessage({
      role: "developer",
      content: [{ type: "developer", ...content }],
    });
    const expected = readRenderCases("harmony-render.jsonl").find((line) => line.id === id);
    const golden = expected?.expected_token_ids ?? [];
    // The developer message is the second one.
    const start = golden.indexOf(200006, 1);
    expect(ids).toEqual(golden.slice(start, golden.indexOf(200006, start + 1)));
  });
});
