/**
 * Real clients of the Responses API, each with one conversation with tool loops, written as in its documentation.
 * Each client decides itself whether and in which field it sends reasoning back.
 */
import { createOpenResponses } from "@ai-sdk/open-responses";
import { createOpenAI, type OpenAILanguageModelResponsesOptions } from "@ai-sdk/openai";
import type { AIMessageChunk } from "@langchain/core/messages";
import { ChatOpenAI } from "@langchain/openai";
import { Agent, type AgentInputItem, OpenAIResponsesModel, run, user } from "@openai/agents";
import type { LanguageModel } from "ai";
import type OpenAI from "openai";
import { z } from "zod";
import { readEvents } from "../api/responses/support.ts";
import {
  AGENT_TOOLS,
  aiSdkLoop,
  aiSdkStreamedLoop,
  call,
  CITY_SCHEMA,
  LANGCHAIN_TOOLS,
  langchainLoop,
  MAX_STEPS,
  MODEL,
  NAMES,
  openai,
  type Say,
} from "./travel-loops.ts";

export const RESPONSES_CLIENTS: Readonly<Record<string, (baseURL: string) => Say>> = {
  "openai create, whole output sent back": (baseURL) => {
    const client = openai(baseURL);
    return openaiLoop((body) => client.responses.create(body));
  },
  "openai create, by previous_response_id": (baseURL) => {
    const client = openai(baseURL);
    return openaiChain((body) => client.responses.create(body));
  },
  "openai stream, whole output sent back": (baseURL) => {
    const client = openai(baseURL);
    return openaiLoop((body) => client.responses.stream(body).finalResponse());
  },
  "openai stream, by previous_response_id": (baseURL) => {
    const client = openai(baseURL);
    return openaiChain((body) => client.responses.stream(body).finalResponse());
  },
  "@ai-sdk/openai": (baseURL) => aiSdkLoop(createOpenAI({ baseURL, apiKey: "none" })(MODEL)),
  "@ai-sdk/openai, streamed": (baseURL) =>
    aiSdkStreamedLoop(createOpenAI({ baseURL, apiKey: "none" })(MODEL)),
  "@ai-sdk/openai without store": (baseURL) =>
    aiSdkLoop(createOpenAI({ baseURL, apiKey: "none" })(MODEL), UNSTORED),
  "@ai-sdk/openai without store, streamed": (baseURL) =>
    aiSdkStreamedLoop(createOpenAI({ baseURL, apiKey: "none" })(MODEL), UNSTORED),
  "@ai-sdk/open-responses": (baseURL) => aiSdkLoop(openResponses(baseURL)),
  "@ai-sdk/open-responses, streamed": (baseURL) => aiSdkStreamedLoop(openResponses(baseURL)),
  "@openai/agents": (baseURL) => {
    const agent = agentOf(baseURL);
    let history: AgentInputItem[] = [];
    return async (text) => {
      const result = await run(agent, [...history, user(text)], { maxTurns: MAX_STEPS });
      ({ history } = result);
      return result.finalOutput ?? "";
    };
  },
  "@openai/agents, streamed": (baseURL) => {
    const agent = agentOf(baseURL);
    let history: AgentInputItem[] = [];
    return async (text) => {
      const result = await run(agent, [...history, user(text)], {
        stream: true,
        maxTurns: MAX_STEPS,
      });
      await result.completed;
      ({ history } = result);
      return result.finalOutput ?? "";
    };
  },
  "@langchain/openai useResponsesApi": (baseURL) => {
    const model = langchain(baseURL);
    return langchainLoop((messages) => model.invoke(messages));
  },
  "@langchain/openai useResponsesApi, streamed": (baseURL) => {
    const model = langchain(baseURL);
    return langchainLoop(async (messages) => {
      let whole: AIMessageChunk | undefined;
      for await (const chunk of await model.stream(messages)) whole = whole?.concat(chunk) ?? chunk;
      if (whole === undefined) throw new Error("nothing was streamed");
      return whole;
    });
  },
  "@langchain/openai useResponsesApi, zdrEnabled": (baseURL) => {
    const model = langchain(baseURL, true);
    return langchainLoop((messages) => model.invoke(messages));
  },
  "Codex's requests": codexLoop,
};

/** The provider does not treat `gpt-oss-…` as a reasoning model. */
const UNSTORED: OpenAILanguageModelResponsesOptions = {
  store: false,
  forceReasoning: true,
  include: ["reasoning.encrypted_content"],
};

function openResponses(baseURL: string): LanguageModel {
  return createOpenResponses({ name: "gateway", url: `${baseURL}/responses` })(MODEL);
}

function agentOf(baseURL: string) {
  return new Agent({
    name: "Travel agent",
    model: new OpenAIResponsesModel(openai(baseURL), MODEL),
    tools: AGENT_TOOLS,
  });
}

type Body = Omit<OpenAI.Responses.ResponseCreateParamsNonStreaming, "stream">;
type Ask = (body: Body) => Promise<{
  id: string;
  output: OpenAI.Responses.ResponseOutputItem[];
  output_text: string;
}>;

const OPENAI_TOOLS = NAMES.map((name): OpenAI.Responses.FunctionTool => ({
  type: "function",
  name,
  parameters: CITY_SCHEMA,
  strict: false,
}));

function outputsOf(output: readonly OpenAI.Responses.ResponseOutputItem[]) {
  return output.flatMap((item) =>
    item.type === "function_call"
      ? [
          {
            type: "function_call_output" as const,
            call_id: item.call_id,
            output: call(item.name, item.arguments),
          },
        ]
      : [],
  );
}

function openaiLoop(ask: Ask): Say {
  const input: OpenAI.Responses.ResponseInputItem[] = [];
  return async (text) => {
    input.push({ role: "user", content: text });
    for (;;) {
      const response = await ask({ model: MODEL, input, tools: OPENAI_TOOLS, store: false });
      // The SDK adds parsed values to the items, and warns when the client sends them back.
      input.push(...response.output.map((item) => toInput(item)), ...outputsOf(response.output));
      if (!response.output.some((item) => item.type === "function_call")) {
        return response.output_text;
      }
    }
  };
}

function toInput(item: OpenAI.Responses.ResponseOutputItem): OpenAI.Responses.ResponseInputItem {
  return JSON.parse(JSON.stringify(item));
}

function openaiChain(ask: Ask): Say {
  let previous: string | undefined;
  return async (text) => {
    let input: OpenAI.Responses.ResponseInputItem[] = [{ role: "user", content: text }];
    for (;;) {
      const response = await ask({
        model: MODEL,
        input,
        tools: OPENAI_TOOLS,
        ...(previous !== undefined && { previous_response_id: previous }),
      });
      previous = response.id;
      input = outputsOf(response.output);
      if (input.length === 0) return response.output_text;
    }
  };
}

function langchain(baseURL: string, zdrEnabled = false) {
  return new ChatOpenAI({
    model: MODEL,
    apiKey: "none",
    useResponsesApi: true,
    zdrEnabled,
    configuration: { baseURL },
  }).bindTools(LANGCHAIN_TOOLS);
}

const codexItem = z.discriminatedUnion("type", [
  z.looseObject({ type: z.literal("reasoning"), encrypted_content: z.string().nullish() }),
  z.looseObject({ type: z.literal("message") }),
  z.looseObject({
    type: z.literal("function_call"),
    call_id: z.string(),
    name: z.string(),
    arguments: z.string(),
  }),
]);

/** Codex: its requests and its reading of events; the program itself runs in `proof/matrix`. */
function codexLoop(baseURL: string): Say {
  const input: object[] = [
    {
      type: "message",
      role: "developer",
      content: [{ type: "input_text", text: "Filesystem sandboxing: read-only." }],
    },
  ];
  return async (text) => {
    input.push({ type: "message", role: "user", content: [{ type: "input_text", text }] });
    for (;;) {
      const response = await fetch(`${baseURL}/responses`, {
        method: "POST",
        headers: { "content-type": "application/json", accept: "text/event-stream" },
        body: JSON.stringify({
          model: MODEL,
          instructions: "You are a coding agent.",
          input,
          tools: [
            ...OPENAI_TOOLS,
            { type: "local_shell" },
            { type: "web_search", external_web_access: false },
            {
              type: "custom",
              name: "apply_patch",
              format: { type: "grammar", syntax: "lark", definition: "start: /.+/s" },
            },
            { type: "namespace", name: "mcp", tools: [] },
          ],
          tool_choice: "auto",
          parallel_tool_calls: false,
          reasoning: { effort: "medium", summary: "auto" },
          store: false,
          stream: true,
          include: ["reasoning.encrypted_content"],
          prompt_cache_key: "b0b3ad5c-53e2-4f1a-a7a5-8f3a0c8a2f0e",
          text: { verbosity: "medium" },
          client_metadata: { installation: "x" },
        }),
      });
      const items = (await readEvents(response)).flatMap((event) =>
        event.type === "response.output_item.done" && "item" in event
          ? [codexItem.parse(event.item)]
          : [],
      );
      let answer = "";
      for (const item of items) {
        const { id: _, status: __, ...kept } = item;
        input.push(kept);
        if (item.type === "function_call") {
          const output = call(item.name, item.arguments);
          input.push({ type: "function_call_output", call_id: item.call_id, output });
        } else if (item.type === "message") {
          answer = JSON.stringify(item["content"]);
        }
      }
      if (!items.some((item) => item.type === "function_call")) return answer;
    }
  };
}
