/**
 * LangChain with `@langchain/openrouter`: a streamed chat with reasoning, then a loop of three tool calls. This client
 * does not send reasoning back; the gateway restores it for the model.
 * Run: `node examples/langchain-openrouter.ts`, with `BASE_URL` if the gateway is elsewhere.
 */
import { type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { ChatOpenRouter } from "@langchain/openrouter";
import { z } from "zod";

const model = new ChatOpenRouter({
  model: "openai/gpt-oss-20b",
  apiKey: process.env["API_KEY"] ?? "none",
  baseURL: process.env["BASE_URL"] ?? "http://127.0.0.1:8787/api/v1",
});

for await (const chunk of await model.stream("Hello! Who are you?")) {
  const { reasoning_content: reasoning } = chunk.additional_kwargs;
  process.stdout.write(typeof reasoning === "string" ? reasoning : chunk.text);
}
console.log();

const schema = z.object({ city: z.string() });
const tools = [
  tool(({ city }) => `Sunny in ${city}`, { name: "get_weather", schema }),
  tool(({ city }) => `To ${city} at nine`, { name: "search_flights", schema }),
  tool(({ city }) => `Booked in ${city}`, { name: "book_hotel", schema }),
];
const agent = model.bindTools(tools);

const messages: BaseMessage[] = [
  new HumanMessage("For Oslo: get_weather, then search_flights, then book_hotel."),
];
for (;;) {
  const answer = await agent.invoke(messages);
  messages.push(answer);
  if (!answer.tool_calls?.length) {
    console.log(answer.text);
    break;
  }
  for (const call of answer.tool_calls) {
    console.log(`${call.name}(${JSON.stringify(call.args)})`);
    const wanted = tools.find((each) => each.name === call.name);
    if (wanted) messages.push(await wanted.invoke({ ...call, type: "tool_call" }));
  }
}
