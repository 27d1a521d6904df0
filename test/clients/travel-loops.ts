/** Three tools, and the loops of libraries that hide the API, for clients of both of OpenAI's APIs. */
import { type AIMessageChunk, HumanMessage, type BaseMessage } from "@langchain/core/messages";
import { tool as langchainTool } from "@langchain/core/tools";
import { setTracingDisabled, tool as agentTool } from "@openai/agents";
import {
  generateText,
  isStepCount,
  type LanguageModel,
  type ModelMessage,
  streamText,
  tool,
} from "ai";
import OpenAI from "openai";
import { z } from "zod";

setTracingDisabled(true);

/** Says something in the conversation, runs the tools the model calls, and gives its answer. */
export type Say = (text: string) => Promise<string>;

export const MODEL = "openai/gpt-oss-20b";
export const MAX_STEPS = 16;
export const schema = z.object({ city: z.string() });

export const FUNCTIONS = {
  get_weather: ({ city }: { city: string }) => `Sunny in ${city}`,
  search_flights: ({ city }: { city: string }) => `To ${city} at nine`,
  book_hotel: ({ city }: { city: string }) => `Booked in ${city}`,
};
export const NAMES = ["get_weather", "search_flights", "book_hotel"] as const;

export const CITY_SCHEMA = {
  type: "object",
  properties: { city: { type: "string" } },
  required: ["city"],
};

export const AGENT_TOOLS = NAMES.map((name) =>
  agentTool({ name, description: "", parameters: schema, execute: FUNCTIONS[name] }),
);

export const LANGCHAIN_TOOLS = NAMES.map((name) =>
  langchainTool(FUNCTIONS[name], { name, schema }),
);

const AI_SDK_TOOLS = {
  get_weather: tool({ inputSchema: schema, execute: FUNCTIONS.get_weather }),
  search_flights: tool({ inputSchema: schema, execute: FUNCTIONS.search_flights }),
  book_hotel: tool({ inputSchema: schema, execute: FUNCTIONS.book_hotel }),
};

/** @param args JSON. */
export function call(name: string, args: string): string {
  const known = NAMES.find((each) => each === name);
  return known === undefined
    ? `no function ${name}`
    : FUNCTIONS[known](schema.parse(JSON.parse(args)));
}

export function openai(baseURL: string): OpenAI {
  return new OpenAI({ baseURL, apiKey: "none", maxRetries: 0 });
}

export function aiSdkLoop(model: LanguageModel, openaiOptions = {}): Say {
  const messages: ModelMessage[] = [];
  return async (text) => {
    messages.push({ role: "user", content: text });
    const result = await generateText({
      model,
      tools: AI_SDK_TOOLS,
      stopWhen: isStepCount(MAX_STEPS),
      messages,
      providerOptions: { openai: openaiOptions },
    });
    messages.push(...result.response.messages);
    return result.text;
  };
}

export function aiSdkStreamedLoop(model: LanguageModel, openaiOptions = {}): Say {
  const messages: ModelMessage[] = [];
  return async (text) => {
    messages.push({ role: "user", content: text });
    const result = streamText({
      model,
      tools: AI_SDK_TOOLS,
      stopWhen: isStepCount(MAX_STEPS),
      messages,
      providerOptions: { openai: openaiOptions },
    });
    await result.consumeStream();
    messages.push(...(await result.response).messages);
    return result.text;
  };
}

export function langchainLoop(ask: (messages: BaseMessage[]) => Promise<AIMessageChunk>): Say {
  const messages: BaseMessage[] = [];
  return async (text) => {
    messages.push(new HumanMessage(text));
    for (;;) {
      const answer = await ask(messages);
      messages.push(answer);
      if (!answer.tool_calls?.length) return answer.text;
      for (const each of answer.tool_calls) {
        const wanted = LANGCHAIN_TOOLS.find((one) => one.name === each.name);
        if (wanted) messages.push(await wanted.invoke({ ...each, type: "tool_call" }));
      }
    }
  };
}
