import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createEngine } from "../../src/index.ts";
import { startTestGateway, type TestGateway } from "../helpers/gateway.ts";
import { recordingEngine } from "../helpers/recording-engine.ts";
import { runExample } from "../helpers/run-example.ts";
import { analysisIn } from "../helpers/tool-loop.ts";

const engine = recordingEngine(createEngine("demo", { model: "demo" }));
let gateway: TestGateway;

beforeAll(async () => {
  gateway = await startTestGateway({ engine });
});
afterAll(() => gateway.close());
beforeEach(() => {
  engine.prompts.length = 0;
});

describe("each example completes its three-step tool loop", () => {
  test.each([
    { name: "responses-openai", showsReasoning: true },
    { name: "responses-stateless", showsReasoning: false },
    { name: "responses-ai-sdk", showsReasoning: true },
    { name: "responses-agents", showsReasoning: true },
  ])("$name", async ({ name, showsReasoning }) => {
    const printed = await runExample(name, { BASE_URL: gateway.baseURL });
    expect(printed.match(/^\w+\(\{.*\}\)$/gm)).toEqual([
      'get_weather({"city":"Oslo"})',
      'search_flights({"city":"Oslo"})',
      'book_hotel({"city":"Oslo"})',
    ]);
    expect(printed).toContain("Booked in Oslo");
    // Strict tools take a second engine call, which continues from the call's header.
    const loop = engine.prompts.filter((prompt) => prompt.endsWith("<|start|>assistant")).slice(-4);
    expect(loop.map((prompt) => analysisIn(prompt).length)).toEqual([0, 1, 2, 3]);
    expect(/The user /.test(printed)).toBe(showsReasoning);
  });
});

test("the background example reconnects for the rest", async () => {
  const printed = await runExample("responses-background", { BASE_URL: gateway.baseURL });
  expect(printed).toMatch(/^resp_\w+ is left after event 2\.\n/);
  expect(printed).toContain("demo engine");
  expect(printed).toMatch(/\ncompleted\n$/);
});
