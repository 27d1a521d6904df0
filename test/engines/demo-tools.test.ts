/** The demo engine calls the tools of training, so that they can be tried with one command and no key. */
import { expect, test } from "vitest";
import { createEngine } from "../../src/index.ts";
import { BROWSER, createBrowsingApp, MODEL } from "../helpers/browsing-app.ts";
import { fakeTool } from "../helpers/fake-tool.ts";

const engine = createEngine("demo", { model: "demo" });
const toolbox = { browser: BROWSER, python: () => fakeTool({ answer: () => "42\n" }) };

test("a question for a search is searched, a page opened, and the answer cites it", async () => {
  const { client } = createBrowsingApp({ engine, toolbox });
  const response = await client.responses.create({
    model: MODEL,
    input: "Search the web for the policy rate.",
    tools: [{ type: "web_search" }],
  });
  expect(response.output.map(({ type }) => type)).toEqual([
    "reasoning",
    "web_search_call",
    "reasoning",
    "web_search_call",
    "reasoning",
    "message",
  ]);
  expect(response.output_text).toBe(
    "I read: “The rate is 0.5% since January.” ([files.example](https://files.example/rates.md))",
  );
});

test("a calculation runs code", async () => {
  const { client } = createBrowsingApp({ engine, toolbox });
  const response = await client.responses.create({
    model: MODEL,
    input: "Calculate 6 * 7 with Python.",
    tools: [{ type: "code_interpreter", container: { type: "auto" } }],
  });
  expect(response.output).toContainEqual(
    expect.objectContaining({ type: "code_interpreter_call", code: "print(6 * 7)" }),
  );
  expect(response.output_text).toContain("42");
});

test("a tool that is not asked for is not called", async () => {
  const { client } = createBrowsingApp({ engine, toolbox });
  const { output } = await client.responses.create({
    model: MODEL,
    input: "Hello!",
    tools: [{ type: "web_search" }],
  });
  expect(output.map(({ type }) => type)).toEqual(["reasoning", "message"]);
});
