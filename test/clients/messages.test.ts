import { APIError, NotFoundError } from "@anthropic-ai/sdk";
import { ContextOverflowError } from "@langchain/core/errors";
import { zodOutputFormat } from "@anthropic-ai/sdk/helpers/zod";
import { ChatAnthropic } from "@langchain/anthropic";
import { afterEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { startTestGateway, type TestGateway } from "../helpers/gateway.ts";
import { type ScriptedEngine, scriptedEngine } from "../helpers/scripted-engine.ts";
import { analysisIn } from "../helpers/tool-loop.ts";
import { anthropic, LOOPS, type MessagesClient } from "./messages-loops.ts";

const MODEL = "openai/gpt-oss-20b";
const SEALING_KEY = Buffer.alloc(32, "k").toString("base64url");
const STEPS = 10;

const gateways: TestGateway[] = [];

afterEach(async () => {
  await Promise.all(gateways.splice(0).map((each) => each.close()));
});

async function start(
  engine: ScriptedEngine,
  settings: Readonly<Record<string, unknown>> = {},
  contextLength?: number,
): Promise<TestGateway> {
  const gateway = await startTestGateway({
    models: [{ id: MODEL, engine, ...(contextLength !== undefined && { contextLength }) }],
    settings,
  });
  gateways.push(gateway);
  return gateway;
}

/** A model that reasons and calls until there are ten results, and then answers. */
function loopEngine(): ScriptedEngine {
  return scriptedEngine(({ prompt }) => {
    const done = prompt.text().split("<|start|>functions.step ").length - 1;
    const analysis = `<|channel|>analysis<|message|>Analysis ${done + 1}.<|end|><|start|>assistant`;
    if (done === STEPS) return `${analysis}<|channel|>final<|message|>All done.<|return|>`;
    const call = `{"n":${done + 1}}`;
    return `${analysis}<|channel|>commentary to=functions.step <|constrain|>json<|message|>${call}<|call|>`;
  });
}

const THINKING: readonly { name: string; thinking: MessagesClient["thinking"] }[] = [
  { name: "without asking for thinking", thinking: undefined },
  { name: "with thinking shown", thinking: { type: "adaptive", display: "summarized" } },
  { name: "with thinking omitted", thinking: { type: "adaptive", display: "omitted" } },
];

describe("ten steps on two gateways that share only a sealing key lose no thinking", () => {
  for (const { name, thinking } of THINKING) {
    test.each(Object.keys(LOOPS))(`%s, ${name}`, async (client) => {
      const engine = loopEngine();
      const settings = { sealingKeys: [SEALING_KEY], storeMaxBytes: 1 };
      const origins = [await start(engine, settings), await start(engine, settings)].map(
        ({ origin }) => origin,
      );
      let requests = 0;
      const answer = await LOOPS[client]?.({
        origin: "http://gateway.test",
        fetch: (url, init) => {
          const { pathname, search } = new URL(url instanceof Request ? url.url : url);
          return fetch(`${origins[requests++ % 2]}${pathname}${search}`, init);
        },
        ...(thinking && { thinking }),
      });
      expect(answer).toBe("All done.");
      expect(engine.prompts.map((prompt) => analysisIn(prompt).length)).toEqual(
        Array.from({ length: STEPS + 1 }, (_, step) => step),
      );
      expect(analysisIn(engine.prompts.at(-1)).at(-1)).toBe(`Analysis ${STEPS}.`);
    });
  }
});

const ANALYSIS = "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant";

describe("@anthropic-ai/sdk", () => {
  test("counts the tokens of the prompt that is sent", async () => {
    const engine = scriptedEngine(["<|channel|>final<|message|>Hi.<|return|>"]);
    const { origin } = await start(engine);
    const sdk = anthropic({ origin, fetch });
    const body = { model: MODEL, messages: [{ role: "user" as const, content: "Hello" }] };
    const { input_tokens: counted } = await sdk.messages.countTokens(body);
    const { usage } = await sdk.messages.create({ ...body, max_tokens: 100 });
    expect(counted).toBe(engine.requests[0]?.prompt.ids.length);
    expect(usage.input_tokens).toBe(counted);
  });

  test("parses an answer of a given form, though the model wrote a preamble", async () => {
    const document = '{"city":"Rome"}<|return|>';
    const engine = scriptedEngine(({ prompt }) =>
      prompt.text().endsWith("<|message|>")
        ? document
        : `${ANALYSIS}<|channel|>commentary<|message|>Here it is.<|end|><|start|>assistant` +
          `<|channel|>final <|constrain|>json<|message|>${document}`,
    );
    const { origin } = await start(engine);
    const message = await anthropic({ origin, fetch }).messages.parse({
      model: MODEL,
      max_tokens: 100,
      messages: [{ role: "user", content: "Where?" }],
      output_config: { format: zodOutputFormat(z.object({ city: z.string() })) },
    });
    expect(message.parsed_output).toEqual({ city: "Rome" });
  });

  test("reads an error in the middle of a stream", async () => {
    const engine = scriptedEngine([
      { write: "<|channel|>final<|message|>Hel", fail: new Error("gone") },
    ]);
    const { origin } = await start(engine);
    const stream = anthropic({ origin, fetch }).messages.stream({
      model: MODEL,
      max_tokens: 100,
      messages: [{ role: "user", content: "Hello" }],
    });
    await expect(stream.finalMessage()).rejects.toBeInstanceOf(APIError);
  });

  test("lists the models and reads one", async () => {
    const { origin } = await start(scriptedEngine([]), {}, 131_072);
    const sdk = anthropic({ origin, fetch });
    const page = await sdk.models.list({ limit: 1000 });
    expect(page.data.map(({ id, type }) => ({ id, type }))).toEqual([{ id: MODEL, type: "model" }]);
    expect(page.has_more).toBe(false);
    const model = await sdk.models.retrieve("gpt-oss-20b");
    expect(model).toMatchObject({ id: "gpt-oss-20b", max_input_tokens: 131_072 });
  });

  test("reads the gateway's request id, and the error of an unknown model", async () => {
    const { origin } = await start(scriptedEngine(["<|channel|>final<|message|>Hi.<|return|>"]));
    const sdk = anthropic({ origin, fetch });
    const body = { max_tokens: 10, messages: [{ role: "user" as const, content: "Hello" }] };
    const { request_id: id } = await sdk.messages.create({ ...body, model: MODEL }).withResponse();
    expect(id).toMatch(/^req_/);
    const failing = sdk.messages.create({ ...body, model: "claude-opus-5-5" });
    await expect(failing).rejects.toBeInstanceOf(NotFoundError);
    await expect(failing).rejects.toMatchObject({ type: "not_found_error" });
  });
});

test("@langchain/anthropic recognises a prompt that is too long", async () => {
  const { origin } = await start(scriptedEngine([]), {}, 100);
  const model = new ChatAnthropic({
    model: MODEL,
    apiKey: "none",
    anthropicApiUrl: origin,
    maxRetries: 0,
  });
  await expect(model.invoke("word ".repeat(1000))).rejects.toBeInstanceOf(ContextOverflowError);
});
