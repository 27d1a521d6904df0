/**
 * Web search with the OpenAI Agents SDK: the gateway searches and reads pages while it answers. Start the gateway with
 * `--builtin-tools browser`. Run: `node examples/tools-agents.ts`, with `BASE_URL` if the gateway is elsewhere.
 */
import {
  Agent,
  OpenAIResponsesModel,
  run,
  setTracingDisabled,
  webSearchTool,
} from "@openai/agents";
import OpenAI from "openai";

// Traces would go to OpenAI.
setTracingDisabled(true);

const client = new OpenAI({
  baseURL: process.env["BASE_URL"] ?? "http://127.0.0.1:8787/v1",
  apiKey: process.env["API_KEY"] ?? "none",
});

const agent = new Agent({
  name: "Researcher",
  instructions: "Answer from what you find, and cite it.",
  model: new OpenAIResponsesModel(client, "openai/gpt-oss-20b"),
  tools: [webSearchTool({ searchContextSize: "low" })],
});

const result = await run(agent, "Search the web: what is the browser tool?");
for (const item of result.newItems) {
  if (item.type === "tool_call_item" && item.rawItem.type === "hosted_tool_call") {
    console.log("→", item.rawItem.name, JSON.stringify(item.rawItem.providerData));
  }
}
console.log(result.finalOutput);
