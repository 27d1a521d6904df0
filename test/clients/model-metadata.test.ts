/** Clients read a model's limits from its entry before their first request, and the gateway measures requests by the same numbers. */
import Anthropic from "@anthropic-ai/sdk";
import { OpenRouter } from "@openrouter/sdk";
import OpenAI from "openai";
import { expect, onTestFinished, test } from "vitest";
import * as z from "zod";
import { startTestGateway } from "../helpers/gateway.ts";
import { scriptedEngine } from "../helpers/scripted-engine.ts";

const MODEL = "openai/gpt-oss-20b";
const ANSWER = "<|channel|>final<|message|>Hi.<|return|>";

async function start(contextLength: number | undefined) {
  const gateway = await startTestGateway({
    models: [
      { id: MODEL, engine: scriptedEngine(() => ANSWER), ...(contextLength && { contextLength }) },
    ],
  });
  onTestFinished(() => gateway.close());
  return gateway;
}

/** The number under each name that a client reads: Cline, Open WebUI, LM Studio's and gateways' clients, opencode and Roo. */
const readers = z
  .object({
    max_model_len: z.number(),
    max_context_length: z.number(),
    context_window: z.number(),
    context_length: z.number(),
    max_output_tokens: z.number(),
    top_provider: z.object({ context_length: z.number(), max_completion_tokens: z.number() }),
  })
  .transform(({ top_provider: provider, ...entry }) => [
    ...Object.values(entry),
    provider.context_length,
    provider.max_completion_tokens,
  ]);

test.each([
  { configured: 4096, announced: 4096 },
  { configured: undefined, announced: 131_072 },
])("with a context of $configured, all clients read $announced", async (example) => {
  const { origin } = await start(example.configured);
  const { announced } = example;
  const openai = new OpenAI({ baseURL: `${origin}/v1`, apiKey: "none" });
  const [entry] = (await openai.models.list()).data;
  expect(new Set(readers.parse(entry))).toEqual(new Set([announced]));

  const openRouter = new OpenRouter({ serverURL: `${origin}/api/v1`, apiKey: "none" });
  const { result } = await openRouter.models.list();
  expect(result.data).toMatchObject([
    {
      contextLength: announced,
      topProvider: { contextLength: announced, maxCompletionTokens: announced },
      defaultParameters: { temperature: 1, topP: 1 },
    },
  ]);

  const anthropic = new Anthropic({ baseURL: origin, apiKey: "none" });
  expect((await anthropic.models.list()).data).toMatchObject([
    { max_input_tokens: announced, max_tokens: announced },
  ]);

  const catalogue = z.object({ models: z.array(z.looseObject({})) });
  expect(
    catalogue.parse(await (await fetch(`${origin}/v1/models?client_version=0.169.0`)).json())
      .models,
  ).toMatchObject([{ context_window: announced, max_context_window: announced }]);
});

test("a prompt that leaves no room in the announced context is refused, and one token less is answered", async () => {
  const request = { model: MODEL, messages: [{ role: "user" as const, content: "Hello" }] };
  const { origin } = await start(undefined);
  const { input_tokens: length } = await new Anthropic({
    baseURL: origin,
    apiKey: "none",
  }).messages.countTokens(request);
  for (const { context, expected } of [
    { context: length, expected: { status: 400, code: "context_length_exceeded" } },
    { context: length + 1, expected: { object: "chat.completion" } },
  ]) {
    const gateway = await start(context);
    const openai = new OpenAI({ baseURL: gateway.baseURL, apiKey: "none", maxRetries: 0 });
    const [entry] = (await openai.models.list()).data;
    expect(entry).toMatchObject({ context_length: context });
    const outcome = await openai.chat.completions.create(request).catch((error: unknown) => error);
    expect(outcome).toMatchObject(expected);
  }
});
