/**
 * Web search through OpenAI's SDK: the model's searches and opened pages, and an answer that cites them. Start the
 * gateway with `--builtin-tools browser`. Run: `node examples/tools-openai.ts`, with `BASE_URL` if the gateway is
 * elsewhere.
 */
import OpenAI from "openai";

const client = new OpenAI({
  baseURL: process.env["BASE_URL"] ?? "http://127.0.0.1:8787/v1",
  apiKey: process.env["API_KEY"] ?? "none",
});

const response = await client.responses.create({
  model: "openai/gpt-oss-20b",
  input: "Search the web: what is the browser tool?",
  tools: [{ type: "web_search" }],
});
for (const item of response.output) {
  if (item.type === "web_search_call") console.log("→", JSON.stringify(item.action));
  if (item.type !== "message") continue;
  for (const part of item.content) {
    if (part.type !== "output_text") continue;
    console.log(part.text);
    for (const citation of part.annotations) {
      if (citation.type === "url_citation") console.log(`  ${citation.title}: ${citation.url}`);
    }
  }
}
