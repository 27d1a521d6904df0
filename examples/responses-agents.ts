/**
 * The OpenAI Agents SDK over the Responses API, its default: a streamed run with reasoning and three tool calls. Run:
 * `node examples/responses-agents.ts`, with `BASE_URL` if the gateway is elsewhere.
 */
import { Agent, OpenAIResponsesModel, run, setTracingDisabled, tool } from "@openai/agents";
import OpenAI from "openai";
import { z } from "zod";

// Traces would go to OpenAI.
setTracingDisabled(true);

const client = new OpenAI({
  baseURL: process.env["BASE_URL"] ?? "http://127.0.0.1:8787/v1",
  apiKey: process.env["API_KEY"] ?? "none",
});
const parameters = z.object({ city: z.string() });

const agent = new Agent({
  name: "Travel agent",
  instructions: "Use the tools the user names, one after the other.",
  model: new OpenAIResponsesModel(client, "openai/gpt-oss-20b"),
  tools: [
    tool({
      name: "get_weather",
      description: "",
      parameters,
      execute: ({ city }) => `Sunny in ${city}`,
    }),
    tool({
      name: "search_flights",
      description: "",
      parameters,
      execute: ({ city }) => `To ${city} at nine`,
    }),
    tool({
      name: "book_hotel",
      description: "",
      parameters,
      execute: ({ city }) => `Booked in ${city}`,
    }),
  ],
});

/** The SDK keeps the readable reasoning of this API as it came. */
const reasoning = z.object({ content: z.array(z.object({ text: z.string() })) });

const result = await run(agent, "For Oslo: get_weather, then search_flights, then book_hotel.", {
  stream: true,
});
for await (const event of result) {
  if (event.type !== "run_item_stream_event") continue;
  const { item } = event;
  if (item.type === "reasoning_item") {
    const { content } = reasoning.parse(item.rawItem.providerData);
    for (const { text } of content) console.log(text);
  } else if (item.type === "tool_call_item" && item.rawItem.type === "function_call") {
    console.log(`${item.rawItem.name}(${item.rawItem.arguments})`);
  }
}
console.log(result.finalOutput);
