/**
 * Web search with the Vercel AI SDK: the gateway searches and reads pages, and the SDK returns the results as sources.
 * Start the gateway with `--builtin-tools browser`. Run: `node examples/tools-ai-sdk.ts`, with `BASE_URL` if the
 * gateway is elsewhere.
 */
import { createOpenAI } from "@ai-sdk/openai";
import { streamText } from "ai";

const openai = createOpenAI({
  baseURL: process.env["BASE_URL"] ?? "http://127.0.0.1:8787/v1",
  apiKey: process.env["API_KEY"] ?? "none",
});

const result = streamText({
  model: openai.responses("openai/gpt-oss-20b"),
  prompt: "Search the web: what is the browser tool?",
  tools: { web_search: openai.tools.webSearch({ searchContextSize: "low" }) },
});
for await (const part of result.fullStream) {
  if (part.type === "tool-result") console.log("→", JSON.stringify(part.output));
  else if (part.type === "text-delta") process.stdout.write(part.text);
  else if (part.type === "error") throw part.error;
}
console.log();
for (const source of await result.sources) {
  if (source.sourceType === "url") console.log(`  ${source.title ?? source.url}`);
}
