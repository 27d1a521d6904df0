/**
 * The Responses API without any state at the gateway: nothing is stored, and the client carries the model's reasoning
 * itself, sealed, so that intermediaries cannot read it. Run:
 * `node examples/responses-stateless.ts`, with `BASE_URL` if the gateway is elsewhere.
 */
import OpenAI from "openai";
import { z } from "zod";

const client = new OpenAI({
  baseURL: process.env["BASE_URL"] ?? "http://127.0.0.1:8787/v1",
  apiKey: process.env["API_KEY"] ?? "none",
});

const city = z.object({ city: z.string() });
const functions = new Map([
  ["get_weather", (input: z.infer<typeof city>) => `Sunny in ${input.city}`],
  ["search_flights", (input: z.infer<typeof city>) => `To ${input.city} at nine`],
  ["book_hotel", (input: z.infer<typeof city>) => `Booked in ${input.city}`],
]);

const input: OpenAI.Responses.ResponseInput = [
  { role: "user", content: "For Oslo: get_weather, then search_flights, then book_hotel." },
];
for (;;) {
  const response = await client.responses.create({
    model: "openai/gpt-oss-20b",
    input,
    tools: [...functions.keys()].map((name) => ({
      type: "function" as const,
      name,
      parameters: z.toJSONSchema(city),
      strict: true,
    })),
    store: false,
    include: ["reasoning.encrypted_content"],
  });
  for (const item of response.output) {
    // Only the sealed copy is sent back. The readable text may be shown, logged or dropped.
    if (item.type === "reasoning") input.push({ ...item, content: [] });
    else if (item.type === "message") input.push(item);
    if (item.type !== "function_call") continue;
    console.log(`${item.name}(${item.arguments})`);
    const output = functions.get(item.name)?.(city.parse(JSON.parse(item.arguments))) ?? "unknown";
    input.push(item, { type: "function_call_output", call_id: item.call_id, output });
  }
  if (response.output_text !== "") {
    console.log(response.output_text);
    break;
  }
}
