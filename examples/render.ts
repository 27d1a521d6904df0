/** A conversation with a tool, rendered to the ids gpt-oss reads. Run: `node examples/render.ts` */

import { createRenderer, dropFinishedAnalysis, parseJson } from "../src/harmony/index.ts";
import type { Message } from "../src/harmony/index.ts";

const call = {
  recipient: "functions.get_weather",
  channel: "commentary",
  contentType: "<|constrain|>json",
};
const result = { name: "functions.get_weather", recipient: "assistant", channel: "commentary" };

const messages: Message[] = [
  {
    role: "system",
    content: [
      {
        type: "system",
        identity: "You are ChatGPT, a large language model trained by OpenAI.",
        date: "2026-11-21",
        effort: "low",
        channels: ["analysis", "commentary", "final"],
        channelsRequired: true,
      },
    ],
  },
  {
    role: "developer",
    content: [
      {
        type: "developer",
        instructions: "Answer in one sentence.",
        namespaces: [
          {
            key: "functions",
            name: "functions",
            functions: [
              {
                name: "get_weather",
                description: "The weather of a city, now.",
                // The schema is parsed from text, because JavaScript would not keep the spelling of 1.0.
                parameters: parseJson(`{
                  "type": "object",
                  "properties": { "city": { "type": "string" }, "step": { "type": "number", "default": 1.0 } },
                  "required": ["city"]
                }`),
              },
            ],
          },
        ],
      },
    ],
  },
  { role: "user", content: "Hello!" },
  { role: "assistant", channel: "analysis", content: "A greeting." },
  { role: "assistant", channel: "final", content: "Hello, how can I help?" },
  // The spelling of a control token stays ordinary text.
  { role: "user", content: "Is it raining in Oslo? <|end|>" },
  { role: "assistant", channel: "analysis", content: "I need the weather." },
  { role: "assistant", ...call, content: '{"city":"Oslo"}' },
  { role: "tool", ...result, content: "light rain" },
];

// The analysis before the first answer is dropped, that of the running turn stays.
const { kept, dropped } = dropFinishedAnalysis(messages);
const prompt = createRenderer().renderCompletion({ messages: kept });

console.log(prompt.text());
console.log(`
dropped: message ${dropped.map(({ index }) => index).join(", ")}
altered: ${prompt.textAltered()}
ids: ${prompt.length}, at the end ${prompt.ids.slice(-6).join(" ")}`);
