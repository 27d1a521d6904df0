/**
 * Anthropic's SDK over the Messages API: a streamed answer with thinking, then a loop of three tool calls. The content
 * is sent back as received, and with it the reasoning, encrypted in the signatures of the thinking blocks.
 * Run: `node examples/messages-anthropic.ts`, with `BASE_URL` if the gateway is elsewhere.
 */
import Anthropic from "@anthropic-ai/sdk";

const client = new Anthropic({
  // The SDK adds /v1 itself.
  baseURL: (process.env["BASE_URL"] ?? "http://127.0.0.1:8787").replace(/\/v1$/, ""),
  apiKey: process.env["API_KEY"] ?? "none",
});
const model = "openai/gpt-oss-20b";

const stream = client.messages.stream({
  model,
  max_tokens: 1000,
  thinking: { type: "adaptive" },
  messages: [{ role: "user", content: "Hello! Who are you?" }],
});
stream.on("thinking", (text) => process.stdout.write(text));
stream.on("text", (text) => process.stdout.write(text));
await stream.finalMessage();
console.log();

const functions: Record<string, (input: string) => string> = {
  get_weather: (input) => `Sunny, asked with ${input}`,
  search_flights: (input) => `One at nine, asked with ${input}`,
  book_hotel: (input) => `Booked, asked with ${input}`,
};
const tools = Object.keys(functions).map((name): Anthropic.Tool => ({
  name,
  input_schema: {
    type: "object",
    properties: { city: { type: "string" } },
    required: ["city"],
  },
}));

const messages: Anthropic.MessageParam[] = [
  { role: "user", content: "For Oslo: get_weather, then search_flights, then book_hotel." },
];
for (;;) {
  const { content, stop_reason } = await client.messages.create({
    model,
    max_tokens: 1000,
    messages,
    tools,
  });
  messages.push({ role: "assistant", content });
  const results: Anthropic.ToolResultBlockParam[] = [];
  for (const block of content) {
    if (block.type === "text") console.log(block.text);
    if (block.type !== "tool_use") continue;
    const input = JSON.stringify(block.input);
    console.log(`${block.name}(${input})`);
    const result = functions[block.name]?.(input) ?? `There is no function ${block.name}.`;
    results.push({ type: "tool_result", tool_use_id: block.id, content: result });
  }
  if (stop_reason !== "tool_use") break;
  messages.push({ role: "user", content: results });
}
