/** Requests that a client must send whole. */
import type { ApiName, Composed } from "../../src/snippets/composed.ts";

const MODEL = "openai/gpt-oss-20b";
const schema = {
  type: "object",
  properties: { name: { type: "string" }, age: { type: ["integer", "null"] } },
  required: ["name", "age"],
  additionalProperties: false,
};
const WEATHER = {
  name: "get_weather",
  description: "The weather in a city: it's “now”.",
  strict: true,
  parameters: {
    type: "object",
    properties: { city: { type: "string" } },
    required: ["city"],
    additionalProperties: false,
  },
};

export const REQUESTS: Readonly<Record<string, Composed>> = {
  plain: {
    model: MODEL,
    messages: [{ role: "user", text: 'It\'s "quoted", $HOME `x` \\ and\nmore: ñ €  </script>' }],
    tools: [],
    options: {},
  },
  "system and sampling": {
    model: MODEL,
    system: "Be brief.\nBe kind.",
    messages: [
      { role: "user", text: "Hi" },
      { role: "assistant", parts: [{ type: "text", text: "Hello!" }] },
      { role: "user", text: "Again" },
    ],
    tools: [],
    options: { effort: "high", temperature: 0.5, topP: 0.9, maxTokens: 2000, seed: 7 },
  },
  "a picture and a document": {
    model: MODEL,
    messages: [
      {
        role: "user",
        text: "What is this?",
        files: [
          { name: "attached", url: "data:image/png;base64,iVBORw0KGgo=" },
          { name: "a.pdf", url: "data:application/pdf;base64,JVBERi0xLjcK" },
        ],
      },
    ],
    tools: [],
    options: {},
  },
  "tools with a result": {
    model: MODEL,
    messages: [
      { role: "user", text: "Weather in Paris?" },
      {
        role: "assistant",
        parts: [
          { type: "reasoning", text: "I should ask the tool." },
          {
            type: "call",
            id: "call_1",
            name: "get_weather",
            arguments: '{"city":"Paris"}',
            result: "21 °C, it's raining",
          },
        ],
      },
    ],
    tools: [WEATHER],
    options: { toolChoice: "auto", parallelCalls: false },
  },
  "a tool that is not strict": {
    model: MODEL,
    messages: [{ role: "user", text: "What time is it?" }],
    tools: [
      { name: "now", description: "The time.", parameters: { type: "object", properties: {} } },
    ],
    options: {},
  },
  schema: {
    model: MODEL,
    messages: [{ role: "user", text: "Invent a person." }],
    tools: [],
    options: { format: { type: "schema", name: "answer", schema } },
  },
  "stop and budget": {
    model: MODEL,
    messages: [{ role: "user", text: "Count." }],
    tools: [],
    options: { stop: ["END", "'"], budget: 1024, maxTokens: 4096 },
  },
};

const SEALED: Readonly<Record<ApiName, object>> = {
  chat: [{ type: "reasoning.encrypted", data: "sealed" }],
  responses: { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "sealed" },
  messages: { type: "redacted_thinking", data: "sealed" },
};

/** A request with reasoning that only the gateway can read. */
export function withSealed(api: ApiName): Composed {
  return {
    model: MODEL,
    messages: [
      { role: "user", text: "Hi" },
      {
        role: "assistant",
        parts: [
          { type: "reasoning", text: "", sealed: { api, value: SEALED[api] } },
          { type: "text", text: "Hello!" },
        ],
      },
      { role: "user", text: "Again" },
    ],
    tools: [],
    options: {},
  };
}
