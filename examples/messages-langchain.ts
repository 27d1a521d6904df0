/**
 * LangChain with `@langchain/anthropic`: a streamed answer, then a loop of three tool calls.
 * Run: `node examples/messages-langchain.ts`, with `BASE_URL` if the gateway is elsewhere.
 */
import { ChatAnthropic } from "@langchain/anthropic";
import { type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { z } from "zod";

const model = new ChatAnthropic({
  model: "openai/gpt-oss-20b",
  apiKey: process.env["API_KEY"] ?? "none",
  // LangChain adds /v1 itself.
  anthropicApiUrl: (process.env["BASE_URL"] ?? "http://127.0.0.1:8787").replace(/\/v1$/, ""),
});

for await (const chunk of await model.stream("Hello! Who are you?")) {
  process.stdout.write(chunk.text);
}
console.log();

const schema = z.object({ city: z.string() });
const tools = [
  tool(({ city }) => `Sunny in ${city}`, { name: "get_weather", description: "", schema }),
  tool(({ city }) => `To ${city} at nine`, { name: "search_flights", description: "", schema }),
  tool(({ city }) => `Booked in ${city}`, { name: "book_hotel", description: "", schema }),
];
const agent = model.bindTools(tools);

const messages: BaseMessage[] = [
  new HumanMessage("For Oslo: get_weather, then search_flights, then book_hotel."),
];
for (;;) {
  const message = await agent.invoke(messages);
  messages.push(message);
  const calls = message.tool_calls ?? [];
  if (calls.length === 0) {
    console.log(message.text);
    break;
  }
  for (const call of calls) {
    console.log(`${call.name}(${JSON.stringify(call.args)})`);
    const called = tools.find(({ name }) => name === call.name);
    if (called) messages.push(await called.invoke({ ...call, type: "tool_call" }));
  }
}
