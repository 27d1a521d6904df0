/** Clients show the model's whole reasoning, once, from whichever member they read. */
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import type { AIMessageChunk } from "@langchain/core/messages";
import { ChatDeepSeek } from "@langchain/deepseek";
import { ChatOpenAI } from "@langchain/openai";
import { ChatOpenRouter } from "@langchain/openrouter";
import { createOpenRouter } from "@openrouter/ai-sdk-provider";
import { generateText, type LanguageModel, streamText } from "ai";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestGateway, type TestGateway } from "../helpers/gateway.ts";
import { scriptedEngine } from "../helpers/scripted-engine.ts";

const MODEL = "openai/gpt-oss-20b";
const THOUGHT = "The user greets me, so I greet back.";
const ANSWER = `<|channel|>analysis<|message|>${THOUGHT}<|end|><|start|>assistant<|channel|>final<|message|>Hi.<|return|>`;

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway({ engine: scriptedEngine(() => ANSWER) });
});
afterAll(() => gateway.close());

/** The reasoning of a plain and of a streamed reply. */
type Shown = (origin: string) => Promise<readonly [plain: unknown, streamed: unknown]>;

interface LangChainModel {
  invoke(text: string): Promise<AIMessageChunk>;
  stream(text: string): Promise<AsyncIterable<AIMessageChunk>>;
}

function langchain(create: (baseURL: string) => LangChainModel, prefix = "/v1"): Shown {
  return async (origin) => {
    const model = create(origin + prefix);
    const plain = await model.invoke("Hello!");
    let streamed: AIMessageChunk | undefined;
    for await (const chunk of await model.stream("Hello!")) {
      streamed = streamed === undefined ? chunk : streamed.concat(chunk);
    }
    return [
      plain.additional_kwargs["reasoning_content"],
      streamed?.additional_kwargs["reasoning_content"],
    ];
  };
}

function aiSdk(create: (baseURL: string) => LanguageModel, prefix = "/v1"): Shown {
  return async (origin) => {
    const asked = { model: create(origin + prefix), prompt: "Hello!" };
    return [(await generateText(asked)).reasoningText, await streamText(asked).reasoningText];
  };
}

const asked = (baseURL: string) => ({
  model: MODEL,
  apiKey: "none",
  maxRetries: 0,
  configuration: { baseURL },
});

test.each<[string, Shown]>([
  ["@langchain/deepseek", langchain((baseURL) => new ChatDeepSeek(asked(baseURL)))],
  ["@langchain/openai", langchain((baseURL) => new ChatOpenAI(asked(baseURL)))],
  [
    "@langchain/openrouter",
    langchain(
      (baseURL) => new ChatOpenRouter({ model: MODEL, apiKey: "none", baseURL }),
      "/api/v1",
    ),
  ],
  [
    "@ai-sdk/openai-compatible",
    aiSdk((baseURL) => createOpenAICompatible({ name: "gateway", baseURL })(MODEL)),
  ],
  [
    "@openrouter/ai-sdk-provider",
    aiSdk((baseURL) => createOpenRouter({ baseURL, apiKey: "none" })(MODEL), "/api/v1"),
  ],
])("%s", async (_, shown) => {
  expect(await shown(gateway.origin)).toEqual([THOUGHT, THOUGHT]);
});
