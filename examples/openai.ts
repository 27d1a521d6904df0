/**
 * The OpenAI SDK: a streamed chat with reasoning, then a loop of three tool calls.
 * Run: `node examples/openai.ts`, with `BASE_URL` if the gateway is elsewhere.
 */
import OpenAI from "openai";

const client = new OpenAI({
  baseURL: process.env["BASE_URL"] ?? "http://127.0.0.1:8787/v1",
  apiKey: process.env["API_KEY"] ?? "none",
});
const model = "openai/gpt-oss-20b";

/** The SDK's types lack this field, but its objects have it. */
type Delta = OpenAI.ChatCompletionChunk.Choice.Delta & { reasoning?: string };

const stream = await client.chat.completions.create({
  model,
  messages: [{ role: "user", content: "Hello! Who are you?" }],
  stream: true,
});
for await (const chunk of stream) {
  const delta: Delta | undefined = chunk.choices[0]?.delta;
  process.stdout.write(delta?.reasoning ?? delta?.content ?? "");
}
console.log();

const functions: Record<string, (input: string) => string> = {
  get_weather: (input) => `Sunny, asked with ${input}`,
  search_flights: (input) => `One at nine, asked with ${input}`,
  book_hotel: (input) => `Booked, asked with ${input}`,
};
const tools = Object.keys(functions).map((name): OpenAI.ChatCompletionTool => {
  const parameters = {
    type: "object",
    properties: { city: { type: "string" } },
    required: ["city"],
  };
  return { type: "function", function: { name, parameters } };
});

const messages: OpenAI.ChatCompletionMessageParam[] = [
  { role: "user", content: "For Oslo: get_weather, then search_flights, then book_hotel." },
];
for (;;) {
  const completion = await client.chat.completions.create({ model, messages, tools });
  const message = completion.choices[0]?.message;
  if (!message) break;
  // The whole message goes back, and with it the reasoning the model needs for its next step.
  messages.push(message);
  if (!message.tool_calls) {
    console.log(message.content);
    break;
  }
  for (const call of message.tool_calls) {
    if (call.type !== "function") continue;
    const { name, arguments: args } = call.function;
    console.log(`${name}(${args})`);
    const content = functions[name]?.(args) ?? `There is no function ${name}.`;
    messages.push({ role: "tool", tool_call_id: call.id, content });
  }
}
