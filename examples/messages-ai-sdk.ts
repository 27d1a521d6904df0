/**
 * The AI SDK with `@ai-sdk/anthropic`: a streamed answer with thinking, then a loop of three tool calls.
 * Run: `node examples/messages-ai-sdk.ts`, with `BASE_URL` if the gateway is elsewhere.
 */
import { createAnthropic } from "@ai-sdk/anthropic";
import { generateText, isStepCount, streamText, tool } from "ai";
import { z } from "zod";

const anthropic = createAnthropic({
  baseURL: process.env["BASE_URL"] ?? "http://127.0.0.1:8787/v1",
  apiKey: process.env["API_KEY"] ?? "none",
});
const model = anthropic("openai/gpt-oss-20b");

const { stream } = streamText({
  model,
  prompt: "Hello! Who are you?",
  providerOptions: { anthropic: { thinking: { type: "adaptive", display: "summarized" } } },
});
for await (const part of stream) {
  if (part.type === "reasoning-delta" || part.type === "text-delta") {
    process.stdout.write(part.text);
  }
}
console.log();

const inputSchema = z.object({ city: z.string() });

function describe(name: string, result: (city: string) => string) {
  return tool({
    description: "",
    inputSchema,
    execute: (input) => {
      console.log(`${name}(${JSON.stringify(input)})`);
      return Promise.resolve(result(input.city));
    },
  });
}

const { text } = await generateText({
  model,
  prompt: "For Oslo: get_weather, then search_flights, then book_hotel.",
  tools: {
    get_weather: describe("get_weather", (city) => `Sunny in ${city}`),
    search_flights: describe("search_flights", (city) => `To ${city} at nine`),
    book_hotel: describe("book_hotel", (city) => `Booked in ${city}`),
  },
  stopWhen: isStepCount(5),
});
console.log(text);
