/** The SDKs of OpenAI and Anthropic for TypeScript. They send the body unchanged. */
import type { ApiName } from "../composed.ts";
import { toTypeScript } from "../literals.ts";
import { KEY_VARIABLE, NO_KEY, type SnippetClient, type SnippetInput } from "../snippet.ts";

export const OPENAI_TYPESCRIPT: SnippetClient = {
  id: "openai-typescript",
  label: "TypeScript",
  apis: ["chat", "responses"],
  make: ({ origin, api, body, key }) => ({
    language: "typescript",
    file: "request.mts",
    code: `import OpenAI from "openai";

const client = new OpenAI({
  baseURL: ${JSON.stringify(`${origin}/v1`)},
  apiKey: ${toKey(key)},
});
const answer = await client.${METHODS[api]}(${toTypeScript(body)});
console.log(${api === "chat" ? "answer.choices[0].message.content" : "answer.output_text"});
`,
    run: "npm install openai && node request.mts",
  }),
};

const METHODS: Readonly<Record<ApiName, string>> = {
  chat: "chat.completions.create",
  responses: "responses.create",
  messages: "messages.create",
};

export const ANTHROPIC_TYPESCRIPT: SnippetClient = {
  id: "anthropic-typescript",
  label: "TypeScript",
  apis: ["messages"],
  make: ({ origin, body, key }) => ({
    language: "typescript",
    file: "request.mts",
    code: `import Anthropic from "@anthropic-ai/sdk";

const client = new Anthropic({
  baseURL: ${JSON.stringify(origin)},
  apiKey: ${toKey(key)},
});
const answer = await client.messages.create(${toTypeScript(body)});
console.log(answer.content);
`,
    run: "npm install @anthropic-ai/sdk && node request.mts",
  }),
};

export function toKey(key: SnippetInput["key"]): string {
  if (key === "variable") return `process.env.${KEY_VARIABLE}`;
  return JSON.stringify(key ?? NO_KEY);
}
