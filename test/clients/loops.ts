/**
 * Real clients, each with one conversation with tool loops, written as in its documentation. Each client decides itself
 * which reasoning it sends back.
 */
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import type { AIMessageChunk, BaseMessage } from "@langchain/core/messages";
import { ChatDeepSeek } from "@langchain/deepseek";
import { ChatOpenAI } from "@langchain/openai";
import { ChatOpenRouter } from "@langchain/openrouter";
import { Agent, type AgentInputItem, OpenAIChatCompletionsModel, run, user } from "@openai/agents";
import { createOpenRouter } from "@openrouter/ai-sdk-provider";
import type OpenAI from "openai";
import {
  AGENT_TOOLS,
  aiSdkLoop,
  aiSdkStreamedLoop,
  call,
  CITY_SCHEMA,
  FUNCTIONS,
  LANGCHAIN_TOOLS,
  langchainLoop,
  MAX_STEPS,
  MODEL,
  NAMES,
  openai,
  type Say,
  schema,
} from "./travel-loops.ts";

export const CLIENTS: Readonly<Record<string, (baseURL: string) => Say>> = {
  "openai create": (baseURL) => {
    const client = openai(baseURL);
    return openaiLoop((body) =>
      client.chat.completions.create(body).then((completion) => completion.choices[0]?.message),
    );
  },
  "openai stream": (baseURL) => {
    const client = openai(baseURL);
    return openaiLoop((body) => client.chat.completions.stream(body).finalMessage());
  },
  "openai runTools": (baseURL) => {
    const client = openai(baseURL);
    let messages: OpenAI.ChatCompletionMessageParam[] = [];
    return async (text) => {
      const runner = client.chat.completions.runTools(
        {
          model: MODEL,
          messages: [...messages, { role: "user", content: text }],
          tools: NAMES.map((name) => ({
            type: "function" as const,
            function: {
              name,
              description: "",
              parse: (args: string) => schema.parse(JSON.parse(args)),
              function: FUNCTIONS[name],
              parameters: CITY_SCHEMA,
            },
          })),
        },
        { maxChatCompletions: MAX_STEPS },
      );
      const content = await runner.finalContent();
      ({ messages } = runner);
      return content ?? "";
    };
  },
  "@ai-sdk/openai chat": (baseURL) =>
    aiSdkLoop(createOpenAI({ baseURL, apiKey: "none" }).chat(MODEL)),
  "@ai-sdk/openai chat, streamed": (baseURL) =>
    aiSdkStreamedLoop(createOpenAI({ baseURL, apiKey: "none" }).chat(MODEL)),
  "@ai-sdk/openai-compatible": (baseURL) =>
    aiSdkLoop(createOpenAICompatible({ name: "gateway", baseURL })(MODEL)),
  "@ai-sdk/openai-compatible, streamed": (baseURL) =>
    aiSdkStreamedLoop(createOpenAICompatible({ name: "gateway", baseURL })(MODEL)),
  "@openrouter/ai-sdk-provider": (baseURL) =>
    aiSdkLoop(createOpenRouter({ baseURL: openRouterURL(baseURL), apiKey: "none" })(MODEL)),
  "@openrouter/ai-sdk-provider, streamed": (baseURL) =>
    aiSdkStreamedLoop(createOpenRouter({ baseURL: openRouterURL(baseURL), apiKey: "none" })(MODEL)),
  "@langchain/openai": (baseURL) =>
    invokedLoop(
      new ChatOpenAI({ model: MODEL, apiKey: "none", configuration: { baseURL } }).bindTools(
        LANGCHAIN_TOOLS,
      ),
    ),
  "@langchain/openai, streamed": (baseURL) => {
    const model = new ChatOpenAI({ model: MODEL, apiKey: "none", configuration: { baseURL } });
    const bound = model.bindTools(LANGCHAIN_TOOLS);
    return langchainLoop(async (messages) => {
      let answer: AIMessageChunk | undefined;
      for await (const chunk of await bound.stream(messages)) {
        answer = answer === undefined ? chunk : answer.concat(chunk);
      }
      if (answer === undefined) throw new Error("no message");
      return answer;
    });
  },
  "@langchain/openrouter": (baseURL) =>
    invokedLoop(
      new ChatOpenRouter({
        model: MODEL,
        apiKey: "none",
        baseURL: openRouterURL(baseURL),
      }).bindTools(LANGCHAIN_TOOLS),
    ),
  "@langchain/deepseek": (baseURL) =>
    invokedLoop(
      new ChatDeepSeek({ model: MODEL, apiKey: "none", configuration: { baseURL } }).bindTools(
        LANGCHAIN_TOOLS,
      ),
    ),
  "@openai/agents": (baseURL) => {
    const agent = new Agent({
      name: "Travel agent",
      model: new OpenAIChatCompletionsModel(openai(baseURL), MODEL),
      tools: AGENT_TOOLS,
    });
    let history: AgentInputItem[] = [];
    return async (text) => {
      const result = await run(agent, [...history, user(text)], { maxTurns: MAX_STEPS });
      ({ history } = result);
      return result.finalOutput ?? "";
    };
  },
};

type Body = Omit<OpenAI.ChatCompletionCreateParamsNonStreaming, "stream">;

function openaiLoop(ask: (body: Body) => Promise<OpenAI.ChatCompletionMessage | undefined>): Say {
  const messages: OpenAI.ChatCompletionMessageParam[] = [];
  const tools = NAMES.map((name): OpenAI.ChatCompletionTool => ({
    type: "function",
    function: { name, parameters: CITY_SCHEMA },
  }));
  return async (text) => {
    messages.push({ role: "user", content: text });
    for (;;) {
      const message = await ask({ model: MODEL, messages, tools });
      if (!message) throw new Error("no message");
      messages.push(message);
      if (!message.tool_calls?.length) return message.content ?? "";
      for (const each of message.tool_calls) {
        if (each.type !== "function") continue;
        const content = call(each.function.name, each.function.arguments);
        messages.push({ role: "tool", tool_call_id: each.id, content });
      }
    }
  };
}

function invokedLoop(model: { invoke(messages: BaseMessage[]): Promise<AIMessageChunk> }): Say {
  return langchainLoop((messages) => model.invoke(messages));
}

/** OpenRouter's clients need integers as error codes, which only this prefix has. */
function openRouterURL(baseURL: string): string {
  return baseURL.replace(/\/v1$/, "/api/v1");
}
