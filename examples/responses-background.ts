/**
 * A background response: started, disconnected from, and followed later from the last event received. Run:
 * `node examples/responses-background.ts`, with `BASE_URL` if the gateway is elsewhere.
 */
import OpenAI from "openai";

const client = new OpenAI({
  baseURL: process.env["BASE_URL"] ?? "http://127.0.0.1:8787/v1",
  apiKey: process.env["API_KEY"] ?? "none",
});

const begun = await client.responses.create({
  model: "openai/gpt-oss-20b",
  input: "Hello! Who are you?",
  background: true,
  stream: true,
});
let id = "";
let seen = -1;
for await (const event of begun) {
  if (event.type === "response.created") ({ id } = event.response);
  seen = event.sequence_number;
  // The connection is lost.
  if (event.type === "response.in_progress") break;
}
console.log(`${id} is left after event ${seen}.`);

const rest = await client.responses.retrieve(id, { stream: true, starting_after: seen });
for await (const event of rest) {
  if (event.type === "response.output_text.delta") process.stdout.write(event.delta);
}
const { status } = await client.responses.retrieve(id);
console.log(`\n${status}`);
