/**
 * The Vercel AI SDK with `@openrouter/ai-sdk-provider`: a streamed chat with reasoning, then a loop of
 * three tool calls. Run: `node examples/ai-sdk-openrouter.ts`, with `BASE_URL` if the gateway is elsewhere.
 */
import { createOpenRouter } from "@openrouter/ai-sdk-provider";
import { isStepCount, streamText, tool } from "ai";
import { z } from "zod";

const gateway = createOpenRouter({
  baseURL: process.env["BASE_URL"] ?? "http://127.0.0.1:8787/api/v1",
  apiKey: process.env["API_KEY"] ?? "none",
});
const model = gateway("openai/gpt-oss-20b");

const city = z.object({ city: z.string() });
const tools = {
  get_weather: tool({ inputSchema: city, execute: async (input) => `Sunny in ${input.city}` }),
  search_flights: tool({ inputSchema: city, execute: async (input) => `To ${input.city} at nine` }),
  book_hotel: tool({ inputSchema: city, execute: async (input) => `Booked in ${input.city}` }),
};

const chat = streamText({ model, prompt: "Hello! Who are you?" });
for await (const part of chat.fullStream) {
  if (part.type === "reasoning-delta" || part.type === "text-delta")
    process.stdout.write(part.text);
}
console.log();

const trip = streamText({
  model,
  tools,
  stopWhen: isStepCount(8),
  prompt: "For Oslo: get_weather, then search_flights, then book_hotel.",
});
for await (const part of trip.fullStream) {
  if (part.type === "tool-call") console.log(`${part.toolName}(${JSON.stringify(part.input)})`);
  else if (part.type === "text-delta") process.stdout.write(part.text);
  else if (part.type === "error") throw part.error;
}
console.log();
