/**
 * Real clients, each holding one conversation with tool loops the way its documentation shows it. What they send
 * back of the model's reasoning, and what they forget, is their own.
 */
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { HumanMessage, type BaseMessage } from "@langchain/core/messages";
import { tool as langchainTool } from "@langchain/core/tools";
import { ChatDeepSeek } from "@langchain/deepseek";
import { ChatOpenAI } from "@langchain/openai";
import { ChatOpenRouter } from "@langchain/openrouter";
import {
  Agent,
  type AgentInputItem,
  OpenAIChatCompletionsModel,
  run,
  setTracingDisabled,
  tool as agentTool,
  user,
} from "@openai/agents";
import { createOpenRouter } from "@openrouter/ai-sdk-provider";
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

const MODEL = "openai/gpt-oss-20b";
const schema = z.object({ city: z.string() });

const FUNCTIONS = {
  get_weather: ({ city }: { city: string }) => `Sunny in ${city}`,
  search_flights: ({ city }: { city: string }) => `To ${city} at nine`,
  book_hotel: ({ city }: { city: string }) => `Booked in ${city}`,
};
const NAMES = ["get_weather", "search_flights", "book_hotel"] as const;

function call(name: string, args: string): string {
  const known = NAMES.find((each) => each === name);
  return known === undefined
    ? `no function ${name}`
    : FUNCTIONS[known](schema.parse(JSON.parse(args)));
}

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
      const runner = client.chat.completions.runTools({
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
      });
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
    aiSdkLoop(createOpenRouter({ baseURL, apiKey: "none" })(MODEL)),
  "@openrouter/ai-sdk-provider, streamed": (baseURL) =>
    aiSdkStreamedLoop(createOpenRouter({ baseURL, apiKey: "none" })(MODEL)),
  "@langchain/openai": (baseURL) =>
    langchainLoop(
      new ChatOpenAI({ model: MODEL, apiKey: "none", configuration: { baseURL } }).bindTools(
        LANGCHAIN_TOOLS,
      ),
    ),
  "@langchain/openrouter": (baseURL) =>
    langchainLoop(
      new ChatOpenRouter({ model: MODEL, apiKey: "none", baseURL }).bindTools(LANGCHAIN_TOOLS),
    ),
  "@langchain/deepseek": (baseURL) =>
    langchainLoop(
      new ChatDeepSeek({ model: MODEL, apiKey: "none", configuration: { baseURL } }).bindTools(
        LANGCHAIN_TOOLS,
      ),
    ),
  "@openai/agents": (baseURL) => {
    const agent = new Agent({
      name: "Travel agent",
      model: new OpenAIChatCompletionsModel(openai(baseURL), MODEL),
      tools: NAMES.map((name) =>
        agentTool({ name, description: "", parameters: schema, execute: FUNCTIONS[name] }),
      ),
    });
    let history: AgentInputItem[] = [];
    return async (text) => {
      const result = await run(agent, [...history, user(text)]);
      ({ history } = result);
      return result.finalOutput ?? "";
    };
  },
};

const CITY_SCHEMA = {
  type: "object",
  properties: { city: { type: "string" } },
  required: ["city"],
};

function openai(baseURL: string): OpenAI {
  return new OpenAI({ baseURL, apiKey: "none", maxRetries: 0 });
}

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

const AI_SDK_TOOLS = {
  get_weather: tool({ inputSchema: schema, execute: FUNCTIONS.get_weather }),
  search_flights: tool({ inputSchema: schema, execute: FUNCTIONS.search_flights }),
  book_hotel: tool({ inputSchema: schema, execute: FUNCTIONS.book_hotel }),
};

function aiSdkLoop(model: LanguageModel): Say {
  const messages: ModelMessage[] = [];
  return async (text) => {
    messages.push({ role: "user", content: text });
    const result = await generateText({
      model,
      tools: AI_SDK_TOOLS,
      stopWhen: isStepCount(8),
      messages,
    });
    messages.push(...result.response.messages);
    return result.text;
  };
}

function aiSdkStreamedLoop(model: LanguageModel): Say {
  const messages: ModelMessage[] = [];
  return async (text) => {
    messages.push({ role: "user", content: text });
    const result = streamText({ model, tools: AI_SDK_TOOLS, stopWhen: isStepCount(8), messages });
    await result.consumeStream();
    messages.push(...(await result.response).messages);
    return result.text;
  };
}

const LANGCHAIN_TOOLS = NAMES.map((name) => langchainTool(FUNCTIONS[name], { name, schema }));

function langchainLoop(model: {
  invoke(messages: BaseMessage[]): Promise<BaseMessage & { tool_calls?: LangchainCall[] }>;
}): Say {
  const messages: BaseMessage[] = [];
  return async (text) => {
    messages.push(new HumanMessage(text));
    for (;;) {
      const answer = await model.invoke(messages);
      messages.push(answer);
      if (!answer.tool_calls?.length) return answer.text;
      for (const each of answer.tool_calls) {
        const wanted = LANGCHAIN_TOOLS.find((one) => one.name === each.name);
        if (wanted) messages.push(await wanted.invoke({ ...each, type: "tool_call" }));
      }
    }
  };
}

interface LangchainCall {
  name: string;
  args: Record<string, unknown>;
  id?: string;
}
