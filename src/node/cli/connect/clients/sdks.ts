/** The vendors' SDKs: a program of a few lines each. */
import { type ConnectedClient, NO_KEY } from "../client-settings.ts";

export const python: ConnectedClient = {
  title: "OpenAI's SDK for Python",
  settings: ({ origin, key = NO_KEY, models: [model] }) => ({
    text: `from openai import OpenAI

client = OpenAI(base_url=${JSON.stringify(`${origin}/v1`)}, api_key=${JSON.stringify(key)})
answer = client.chat.completions.create(
    model=${JSON.stringify(model.id)},
    messages=[{"role": "user", "content": "Hello!"}],
)
print(answer.choices[0].message.content)`,
  }),
};

export const typescript: ConnectedClient = {
  title: "OpenAI's SDK for TypeScript",
  settings: ({ origin, key = NO_KEY, models: [model] }) => ({
    text: `import OpenAI from "openai";

const client = new OpenAI({ baseURL: ${JSON.stringify(`${origin}/v1`)}, apiKey: ${JSON.stringify(key)} });
const answer = await client.chat.completions.create({
  model: ${JSON.stringify(model.id)},
  messages: [{ role: "user", content: "Hello!" }],
});
console.log(answer.choices[0]?.message.content);`,
  }),
};

export const anthropic: ConnectedClient = {
  title: "Anthropic's SDK for TypeScript",
  settings: ({ origin, key = NO_KEY, models: [model] }) => ({
    text: `import Anthropic from "@anthropic-ai/sdk";

const client = new Anthropic({ baseURL: ${JSON.stringify(origin)}, apiKey: ${JSON.stringify(key)} });
const answer = await client.messages.create({
  model: ${JSON.stringify(model.id)},
  max_tokens: 4096,
  messages: [{ role: "user", content: "Hello!" }],
});
console.log(answer.content);`,
  }),
};
