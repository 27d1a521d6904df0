/**
 * Clients of the Messages API, each with one tool loop, written as in its documentation. Each decides itself which
 * thinking it sends back.
 */
import { createAnthropic } from "@ai-sdk/anthropic";
import Anthropic from "@anthropic-ai/sdk";
import { betaZodTool } from "@anthropic-ai/sdk/helpers/beta/zod";
import { ChatAnthropic } from "@langchain/anthropic";
import { type AIMessageChunk, type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { tool as langchainTool } from "@langchain/core/tools";
import { generateText, isStepCount, streamText, tool } from "ai";
import { z } from "zod";

export interface MessagesClient {
  /** The gateway's address without `/v1`. */
  readonly origin: string;
  /** The function that sends every request. */
  readonly fetch: typeof fetch;
  /** The body's `thinking`. Absent: not requested. */
  readonly thinking?: { readonly type: "adaptive"; readonly display: "summarized" | "omitted" };
}

/** Runs the loop and returns its answer. */
export type RunLoop = (client: MessagesClient) => Promise<string>;

const MODEL = "openai/gpt-oss-20b";
const MAX_TOKENS = 1000;
const MAX_STEPS = 20;
const PROMPT = "Go.";

const schema = z.object({ n: z.number().int() });
const run = ({ n }: z.infer<typeof schema>) => `step ${n} done`;

const STEP_TOOL: Anthropic.Tool = {
  name: "step",
  description: "Does a step.",
  input_schema: { type: "object", properties: { n: { type: "integer" } }, required: ["n"] },
};

export const LOOPS: Readonly<Record<string, RunLoop>> = {
  "@anthropic-ai/sdk create": (client) =>
    anthropicLoop(client, (sdk, body) => sdk.messages.create(body)),
  "@anthropic-ai/sdk stream": (client) =>
    anthropicLoop(client, (sdk, body) => sdk.messages.stream(body).finalMessage()),
  // The client uses a server-side thread until the gateway refuses it.
  "@anthropic-ai/sdk toolRunner": async (client) => {
    const message = await anthropic(client).beta.messages.toolRunner({
      model: MODEL,
      max_tokens: MAX_TOKENS,
      messages: [{ role: "user", content: PROMPT }],
      tools: [betaZodTool({ name: "step", description: "", inputSchema: schema, run })],
      ...(client.thinking && { thinking: client.thinking }),
    });
    return textOf(message.content);
  },
  "@ai-sdk/anthropic generateText": async (client) => (await generateText(aiOptions(client))).text,
  "@ai-sdk/anthropic streamText": (client) => Promise.resolve(streamText(aiOptions(client)).text),
  "@langchain/anthropic invoke": (client) =>
    langchainLoop(client, (model, messages) => model.invoke(messages)),
  "@langchain/anthropic stream": (client) =>
    langchainLoop(client, async (model, messages) => {
      let whole: AIMessageChunk | undefined;
      for await (const chunk of await model.stream(messages)) {
        whole = whole === undefined ? chunk : whole.concat(chunk);
      }
      if (whole === undefined) throw new Error("the stream is empty");
      return whole;
    }),
};

export function anthropic({ origin, fetch }: Pick<MessagesClient, "origin" | "fetch">): Anthropic {
  return new Anthropic({ baseURL: origin, apiKey: "none", fetch, maxRetries: 0 });
}

async function anthropicLoop(
  client: MessagesClient,
  ask: (
    sdk: Anthropic,
    body: Anthropic.MessageCreateParamsNonStreaming,
  ) => Promise<Anthropic.Message>,
): Promise<string> {
  const sdk = anthropic(client);
  const messages: Anthropic.MessageParam[] = [{ role: "user", content: PROMPT }];
  for (let step = 0; step < MAX_STEPS; step++) {
    const { content } = await ask(sdk, {
      model: MODEL,
      max_tokens: MAX_TOKENS,
      messages,
      tools: [STEP_TOOL],
      ...(client.thinking && { thinking: client.thinking }),
    });
    const calls = content.filter((block) => block.type === "tool_use");
    if (calls.length === 0) return textOf(content);
    messages.push({ role: "assistant", content });
    messages.push({
      role: "user",
      content: calls.map(({ id, input }) => ({
        type: "tool_result",
        tool_use_id: id,
        content: run(schema.parse(input)),
      })),
    });
  }
  throw new Error("the loop does not end");
}

function textOf(content: readonly { readonly type: string; readonly text?: string }[]): string {
  return content.map((block) => (block.type === "text" ? block.text : "")).join("");
}

function aiOptions({ origin, fetch, thinking }: MessagesClient) {
  const anthropicProvider = createAnthropic({ baseURL: `${origin}/v1`, apiKey: "none", fetch });
  return {
    model: anthropicProvider(MODEL),
    prompt: PROMPT,
    tools: {
      step: tool({
        description: "",
        inputSchema: schema,
        execute: (input) => Promise.resolve(run(input)),
      }),
    },
    stopWhen: isStepCount(MAX_STEPS),
    maxOutputTokens: MAX_TOKENS,
    maxRetries: 0,
    ...(thinking && { providerOptions: { anthropic: { thinking } } }),
  };
}

async function langchainLoop(
  { origin, fetch, thinking }: MessagesClient,
  ask: (model: LangChainModel, messages: BaseMessage[]) => Promise<AIMessageChunk>,
): Promise<string> {
  const step = langchainTool((input: z.infer<typeof schema>) => run(input), {
    name: "step",
    description: "",
    schema,
  });
  const model = new ChatAnthropic({
    model: MODEL,
    apiKey: "none",
    anthropicApiUrl: origin,
    clientOptions: { fetch },
    maxTokens: MAX_TOKENS,
    maxRetries: 0,
    ...(thinking && { thinking }),
  }).bindTools([step]);
  const messages: BaseMessage[] = [new HumanMessage(PROMPT)];
  for (let count = 0; count < MAX_STEPS; count++) {
    const message = await ask(model, messages);
    messages.push(message);
    if ((message.tool_calls ?? []).length === 0) return message.text;
    for (const call of message.tool_calls ?? []) {
      messages.push(await step.invoke({ ...call, type: "tool_call" }));
    }
  }
  throw new Error("the loop does not end");
}

type LangChainModel = ReturnType<ChatAnthropic["bindTools"]>;
