/**
 * Web search through Anthropic's SDK: blocks for the model's searches and pages, and an answer whose blocks cite them.
 * Start the gateway with `--builtin-tools browser`. Run: `node examples/tools-anthropic.ts`, with `BASE_URL` if the
 * gateway is elsewhere.
 */
import Anthropic from "@anthropic-ai/sdk";

const baseURL = process.env["BASE_URL"] ?? "http://127.0.0.1:8787/v1";
const client = new Anthropic({
  baseURL: baseURL.replace(/\/v1$/, ""),
  apiKey: process.env["API_KEY"] ?? "none",
});

const message = await client.messages
  .stream({
    model: "openai/gpt-oss-20b",
    max_tokens: 1000,
    messages: [{ role: "user", content: "Search the web: what is the browser tool?" }],
    tools: [{ type: "web_search_20250305", name: "web_search", max_uses: 3 }],
  })
  .finalMessage();
for (const block of message.content) {
  if (block.type === "server_tool_use") console.log("→", block.name, JSON.stringify(block.input));
  if (block.type !== "text") continue;
  console.log(block.text);
  for (const citation of block.citations ?? []) {
    if (citation.type !== "web_search_result_location") continue;
    console.log(`  ${citation.title}: ${citation.url} (${citation.cited_text})`);
  }
}
