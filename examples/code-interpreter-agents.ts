/**
 * A code interpreter for the OpenAI Agents SDK: the gateway runs the code that the model writes, and the SDK shows the call
 * and its outputs. Start the gateway with `--builtin-tools python`. Run: `node examples/code-interpreter-agents.ts`, with
 * `BASE_URL` if the gateway is elsewhere.
 */
import {
  Agent,
  codeInterpreterTool,
  OpenAIResponsesModel,
  run,
  setTracingDisabled,
} from "@openai/agents";
import OpenAI from "openai";

// Traces would go to OpenAI.
setTracingDisabled(true);

const client = new OpenAI({
  baseURL: process.env["BASE_URL"] ?? "http://127.0.0.1:8787/v1",
  apiKey: process.env["API_KEY"] ?? "none",
});

const agent = new Agent({
  name: "Calculator",
  instructions: "Compute with python.",
  model: new OpenAIResponsesModel(client, "openai/gpt-oss-20b"),
  modelSettings: { providerData: { include: ["code_interpreter_call.outputs"] } },
  tools: [codeInterpreterTool({ container: { type: "auto" } })],
});

const result = await run(agent, "Compute 6*7 with python.");
for (const item of result.newItems) {
  if (item.type === "tool_call_item" && item.rawItem.type === "hosted_tool_call") {
    console.log(item.rawItem.name, JSON.stringify(item.rawItem.providerData));
  }
}
console.log(result.finalOutput);
