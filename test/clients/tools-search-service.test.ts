/** The browser tool with a search service that returns SearXNG's JSON, on Node and in the Workers runtime. */
import { createServer, type Server } from "node:http";
import OpenAI from "openai";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestGateway, type TestGateway } from "../helpers/gateway.ts";
import { listenAnywhere } from "../helpers/listen.ts";
import { scriptedEngine } from "../helpers/scripted-engine.ts";

const SCRIPT = [
  ' to=browser.search<|channel|>analysis code<|message|>{"query":"policy rate","topn":2}<|call|>',
  ' to=browser.open<|channel|>analysis code<|message|>{"cursor":0,"id":1}<|call|>',
  "<|channel|>final<|message|>It is 0.5%.<|return|>",
];

const engine = scriptedEngine(SCRIPT);
const asked: string[] = [];
let service: Server;
let port: number;
let gateway: TestGateway;

beforeAll(async () => {
  service = createServer((request, response) => {
    asked.push(request.url ?? "");
    response.setHeader("content-type", "application/json");
    response.end(
      JSON.stringify({
        results: [
          { url: "https://bank.example/rates", title: "Rates", content: "<b>0.5%</b> since May" },
          { url: `http://127.0.0.1:${port}/secret`, title: "Inside", content: "a trap" },
          { url: "https://bank.example/more", title: "More", content: "not asked for" },
        ],
      }),
    );
  });
  port = await listenAnywhere(service);
  gateway = await startTestGateway({
    engine,
    settings: {
      builtinTools: ["browser"],
      browserSearch: "searxng",
      browserSearchUrl: `http://127.0.0.1:${port}`,
    },
  });
});
afterAll(async () => {
  await gateway.close();
  service.close();
});

test("the service is asked, its results are shown, and a page inside the network is not fetched", async () => {
  const client = new OpenAI({ baseURL: gateway.baseURL, apiKey: "none", maxRetries: 0 });
  const { output, output_text: text } = await client.responses.create({
    model: "openai/gpt-oss-20b",
    input: "What is the policy rate?",
    tools: [{ type: "web_search" }],
    include: ["web_search_call.action.sources"],
  });
  expect(output.slice(0, 2)).toMatchObject([
    {
      type: "web_search_call",
      status: "completed",
      action: {
        query: "policy rate",
        sources: [
          { url: "https://bank.example/rates" },
          { url: `http://127.0.0.1:${port}/secret` },
        ],
      },
    },
    { type: "web_search_call", status: "failed", action: { type: "open_page" } },
  ]);
  expect(text).toBe("It is 0.5%.");
  expect(asked).toEqual(["/search?q=policy+rate&format=json"]);
  expect(engine.prompts[1]).toContain("【0†Rates†bank.example】 0.5% since May");
  expect(engine.prompts[1]).not.toContain("not asked for");
  expect(engine.prompts[2]).toContain("Error fetching URL");
});
