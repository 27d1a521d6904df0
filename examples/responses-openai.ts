/**
 * OpenAI's SDK over the Responses API: a streamed answer with its reasoning, then a loop of three tool calls that the
 * gateway remembers (`previous_response_id`). Run: `node examples/responses-openai.ts`, with `BASE_URL` if
 * the gateway is elsewhere.
 */
import OpenAI from "openai";
import { z } from "zod";

const client = new OpenAI({
  baseURL: process.env["BASE_URL"] ?? "http://127.0.0.1:8787/v1",
  apiKey: process.env["API_KEY"] ?? "none",
});
const model = "openai/gpt-oss-20b";

const stream = client.responses.stream({ model, input: "Hello! Who are you?" });
for await (const event of stream) {
  if (event.type === "response.reasoning_text.delta") process.stdout.write(event.delta);
  else if (event.type === "response.output_text.delta") process.stdout.write(event.delta);
}
console.log();

const city = z.object({ city: z.string() });
const functions = new Map([
  ["get_weather", (input: z.infer<typeof city>) => `Sunny in ${input.city}`],
  ["search_flights", (input: z.infer<typeof city>) => `To ${input.city} at nine`],
  ["book_hotel", (input: z.infer<typeof city>) => `Booked in ${input.city}`],
]);
const tools = [...functions.keys()].map((name) => ({
  type: "function" as const,
  name,
  parameters: z.toJSONSchema(city),
  strict: true,
}));

let response = await client.responses.create({
  model,
  tools,
  input: "For Oslo: get_weather, then search_flights, then book_hotel.",
});
for (;;) {
  const calls = response.output.filter((item) => item.type === "function_call");
  if (calls.length === 0) break;
  response = await client.responses.create({
    model,
    tools,
    previous_response_id: response.id,
    input: calls.map((call) => {
      console.log(`${call.name}(${call.arguments})`);
      const output = functions.get(call.name)?.(city.parse(JSON.parse(call.arguments)));
      return { type: "function_call_output", call_id: call.call_id, output: output ?? "unknown" };
    }),
  });
}
console.log(response.output_text);
