/** The examples of web search, and the AI SDK's other providers, against the demo engine and the sample documents. */
import { createAnthropic } from "@ai-sdk/anthropic";
import { generateText, streamText } from "ai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestGateway, type TestGateway } from "../helpers/gateway.ts";
import { runExample } from "../helpers/run-example.ts";

let gateway: TestGateway;

beforeAll(async () => {
  gateway = await startTestGateway({ settings: { builtinTools: ["browser"] } });
});
afterAll(() => gateway.close());

describe("each example shows the search, the opened page and the answer that cites it", () => {
  test.each([
    { name: "tools-openai", source: /^ {2}The browser tool: https:\/\/files\.example\//m },
    { name: "tools-ai-sdk", source: /^ {2}https:\/\/files\.example\/browser\.md$/m },
    { name: "tools-agents", source: /\(\[files\.example\]\(https:\/\/files\.example\// },
    {
      name: "tools-anthropic",
      source: /^ {2}The browser tool: https:\/\/files\.example\/.+ \(.+\)$/m,
    },
  ])("$name", async ({ name, source }) => {
    const printed = await runExample(name, { BASE_URL: gateway.baseURL });
    expect(printed.match(/^→/gm)).toHaveLength(2);
    expect(printed).toMatch(source);
  });
});

describe("the AI SDK over Messages", () => {
  function ask() {
    const anthropic = createAnthropic({ baseURL: gateway.baseURL, apiKey: "none" });
    return {
      model: anthropic("openai/gpt-oss-20b"),
      prompt: "Search the web: what is the browser tool?",
      maxOutputTokens: 1000,
      tools: {
        web_search: anthropic.tools.webSearch_20250305({ maxUses: 3 }),
        web_fetch: anthropic.tools.webFetch_20250910({}),
      },
    };
  }

  test("generated", async () => {
    const { sources, toolResults, text } = await generateText(ask());
    expect(toolResults.map(({ toolName }) => toolName)).toEqual(["web_search", "web_fetch"]);
    expect(sources.length).toBeGreaterThan(0);
    expect(sources[0]).toMatchObject({ sourceType: "url", title: "The browser tool" });
    expect(text).not.toBe("");
  });

  test("streamed", async () => {
    const stream = streamText(ask());
    const kinds: string[] = [];
    for await (const part of stream.fullStream) {
      if (part.type === "error") throw part.error;
      kinds.push(part.type === "source" ? `source ${part.sourceType}` : part.type);
    }
    expect(kinds.filter((kind) => kind === "tool-result")).toHaveLength(2);
    expect(kinds).toContain("source url");
    expect(await stream.finishReason).toBe("stop");
  });
});
