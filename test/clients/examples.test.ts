import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createEngine } from "../../src/index.ts";
import { startTestGateway, type TestGateway } from "../helpers/gateway.ts";
import { recordingEngine } from "../helpers/recording-engine.ts";
import { runExample } from "../helpers/run-example.ts";

const engine = recordingEngine(createEngine("demo", { model: "demo" }));
let gateway: TestGateway;

beforeAll(async () => {
  gateway = await startTestGateway({ engine });
});
afterAll(() => gateway.close());
beforeEach(() => {
  engine.prompts.length = 0;
});

/** Runs an example as a user does, and returns its output. */
function run(name: string): Promise<string> {
  const baseURL = name.endsWith("-openrouter") ? `${gateway.origin}/api/v1` : gateway.baseURL;
  return runExample(name, { BASE_URL: baseURL, OPENAI_API_KEY: "none" });
}

const ANALYSIS = /<\|channel\|>analysis<\|message\|>(.*?)<\|end\|>/gs;

function analysisIn(prompt: string | undefined): string[] {
  return Array.from((prompt ?? "").matchAll(ANALYSIS), ([, text]) => text ?? "");
}

describe("each client completes a streamed chat and a three-step tool loop", () => {
  test.each([
    { name: "openai", showsReasoning: true },
    { name: "ai-sdk-openai-compatible", showsReasoning: true },
    { name: "ai-sdk-openrouter", showsReasoning: true },
    { name: "langchain-openai", showsReasoning: false },
    { name: "langchain-openrouter", showsReasoning: true },
    { name: "openai-agents", showsReasoning: true },
    { name: "messages-anthropic", showsReasoning: true },
    { name: "messages-ai-sdk", showsReasoning: true },
    { name: "messages-langchain", showsReasoning: false },
  ])("$name", async ({ name, showsReasoning }) => {
    const printed = await run(name);
    expect(printed.match(/^\w+\(\{.*\}\)$/gm)).toEqual([
      'get_weather({"city":"Oslo"})',
      'search_flights({"city":"Oslo"})',
      'book_hotel({"city":"Oslo"})',
    ]);
    // Strict tools take a second engine call, which continues from the call's header.
    const loop = engine.prompts.filter((prompt) => prompt.endsWith("<|start|>assistant")).slice(-4);
    expect(loop.map((prompt) => analysisIn(prompt).length)).toEqual([0, 1, 2, 3]);
    const analysis = analysisIn(loop.at(-1));
    expect(new Set(analysis).size).toBe(3);
    expect(/The user /.test(printed)).toBe(showsReasoning);
  });
});
