import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { EngineError, type EngineErrorKind } from "../../../src/index.ts";
import { createBrowsingApp } from "../../helpers/browsing-app.ts";
import { startTestGateway, type TestGateway } from "../../helpers/gateway.ts";
import { type Script, type ScriptedEngine, scriptedEngine } from "../../helpers/scripted-engine.ts";
import { chatChunk, readEvents } from "../../helpers/replies.ts";

const ANALYSIS = "<|channel|>analysis<|message|>Let me think.<|end|><|start|>assistant";

let next: Script = "";
let engine: ScriptedEngine;
let gateway: TestGateway;

beforeAll(async () => {
  engine = scriptedEngine(() => next);
  gateway = await startTestGateway({ engine, settings: { keepAliveMs: 200 } });
});
afterAll(() => gateway.close());
afterEach(() => {
  if (engine.open > 0) throw new Error(`${engine.open} engine calls were not let go`);
});

async function ask(body: object, init: RequestInit = {}): Promise<Response> {
  return fetch(`${gateway.baseURL}/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ messages: [{ role: "user", content: "hi" }], ...body }),
    ...init,
  });
}

/** The events of a stream; `[DONE]` as text. */
async function eventsOf(response: Response): Promise<unknown[]> {
  return readEvents(await response.text()).map((data): unknown =>
    data === "[DONE]" ? data : JSON.parse(data),
  );
}

describe("an engine that fails before its first token", () => {
  test.each<[EngineErrorKind, number, string]>([
    ["unreachable", 502, "provider_unavailable"],
    ["unavailable", 503, "provider_unavailable"],
    ["auth", 502, "provider_unavailable"],
    ["not-found", 502, "provider_unavailable"],
    ["server-error", 502, "provider_unavailable"],
    ["closed", 502, "provider_unavailable"],
    ["timeout", 504, "timeout"],
    ["overloaded", 503, "provider_overloaded"],
    ["rate-limit", 429, "rate_limit_exceeded"],
    ["bad-request", 400, "invalid_request"],
    ["context-length", 400, "context_length_exceeded"],
  ])("%s is a %i, streamed or not", async (kind, status, errorType) => {
    for (const stream of [false, true]) {
      const failing = scriptedEngine([]);
      // oxlint-disable-next-line require-yield -- it fails before there is anything to yield
      failing.complete = async function* () {
        throw new EngineError(kind, "http://secret-host:8000 said no", { retryAfter: 7 });
      };
      // Clients other than the operator.
      const broken = await startTestGateway({ engine: failing, settings: { open: true } });
      const response = await fetch(`${broken.baseURL}/chat/completions`, {
        method: "POST",
        body: JSON.stringify({ stream, messages: [{ role: "user", content: "hi" }] }),
      });
      expect(response.status).toBe(status);
      expect(response.headers.get("content-type")).toMatch(/^application\/json/);
      const { error } = await errorOf(response);
      expect(error).toMatchObject({ code: errorType, metadata: { error_type: errorType } });
      expect(error.message).not.toContain("secret-host");
      expect(response.headers.get("retry-after")).toBe(
        status === 429 || status === 503 ? "7" : null,
      );
      await broken.close();
    }
  });
});

describe("an engine that dies in the middle", () => {
  test("of a stream: the earlier chunks, a typed error, the end of the choice, and no [DONE]", async () => {
    next = { write: ANALYSIS, fail: new EngineError("closed", "gone") };
    const response = await ask({ stream: true });
    expect(response.status).toBe(200);
    const events = await eventsOf(response);
    const error = {
      code: "provider_unavailable",
      message: "The engine closed the connection early.",
      type: "server_error",
      param: null,
      metadata: { error_type: "provider_unavailable" },
    };
    expect(events.at(-2)).toMatchObject({
      object: "chat.completion.chunk",
      error,
      choices: [{ index: 0, delta: { content: "" }, finish_reason: "error" }],
    });
    expect(events.at(-1)).toEqual({ error });
    expect(events.length).toBeGreaterThan(3);
  });

  test("of a plain answer: the same status as before the first token", async () => {
    next = { write: ANALYSIS, fail: new EngineError("closed", "gone") };
    const response = await ask({});
    expect(response.status).toBe(502);
  });
});

test("while an engine hangs, comments keep the stream alive; a disconnect aborts the engine's request", async () => {
  next = { write: ANALYSIS, hang: true };
  const abort = new AbortController();
  const response = await ask({ stream: true }, { signal: abort.signal });
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  while (!/^: /m.test(text)) text += (await reader?.read())?.value ?? "";
  expect(engine.open).toBe(1);
  abort.abort();
  await expect.poll(() => engine.open).toBe(0);
});

test("a disconnect during a plain request aborts the engine's request", async () => {
  next = { write: ANALYSIS, hang: true };
  const abort = new AbortController();
  const answer = ask({}, { signal: abort.signal });
  await expect.poll(() => engine.open).toBe(1);
  abort.abort();
  await expect(answer).rejects.toThrow(/abort/i);
  await expect.poll(() => engine.open).toBe(0);
});

describe("malformed model output is never an error", () => {
  test.each<[string, Script, string]>([
    ["nothing", "", ""],
    ["garbage", "?? <|message|><|message|><|constrain|> ok", "?? "],
    ["an answer without end", "<|channel|>final<|message|>cut of", "cut of"],
    ["a header and no more", "<|channel|>fin", ""],
    ["ids nobody knows", [201_500, 200_018, 199_998, 13225], "Hello"],
  ])("%s", async (_, script) => {
    for (const stream of [false, true]) {
      next = script;
      const response = await ask({ stream });
      expect(response.status).toBe(200);
      const text = await response.text();
      expect(text).toMatch(/"finish_reason":"stop"/);
      expect(text).not.toMatch(/<\|/);
    }
  });
});

describe("an invalid request gets the same error, streamed or not", () => {
  test.each([
    ["text that is no JSON", "{", null],
    ["JSON that is no object", "[]", null],
    ["no messages", '{"n":null}', "messages"],
    ["an unknown model", '{"model":"gpt-9","messages":[{"role":"user","content":"x"}]}', "model"],
    [
      "an image",
      '{"messages":[{"role":"user","content":[{"type":"image_url"}]}]}',
      "messages[0].content[0].type",
    ],
    [
      "a stream flag of the wrong type",
      '{"stream":"yes","messages":[{"role":"user","content":"x"}]}',
      "stream",
    ],
  ])("%s", async (_, text, param) => {
    for (const body of [text, text.replace("{", '{"stream":true,')]) {
      const response = await ask({}, { body });
      expect(response.status).toBe(400);
      expect((await errorOf(response)).error).toMatchObject({
        code: param === "model" ? "model_not_found" : "invalid_request",
        type: "invalid_request_error",
        param,
      });
    }
  });

  test("a prompt longer than the context", async () => {
    const short = scriptedEngine([]);
    const small = await startTestGateway({
      models: [{ id: "tiny", engine: short, contextLength: 100 }],
    });
    const response = await fetch(`${small.baseURL}/chat/completions`, {
      method: "POST",
      body: JSON.stringify({ messages: [{ role: "user", content: "word ".repeat(200) }] }),
    });
    expect(response.status).toBe(400);
    const { error } = await errorOf(response);
    expect(error).toMatchObject({
      param: "messages",
      metadata: { error_type: "context_length_exceeded" },
    });
    expect(error.message).toBe(
      "This model's maximum context length is 100 tokens, but the messages and tools are 268 tokens long.",
    );
    await small.close();
  });
});

describe("several choices", () => {
  test("have their own indices, streamed and plain, and one usage", async () => {
    next = `${ANALYSIS}<|channel|>final<|message|>Hi<|return|>`;
    const plain = completion.parse(await (await ask({ n: 3 })).json());
    expect(plain.choices.map((choice) => choice.index)).toEqual([0, 1, 2]);
    const one = completion.parse(await (await ask({})).json());
    expect(plain.usage.completion_tokens).toBe(3 * one.usage.completion_tokens);
    expect(plain.usage.prompt_tokens).toBe(one.usage.prompt_tokens);

    const events = await eventsOf(await ask({ n: 2, stream: true }));
    for (const index of [0, 1]) {
      const own = events
        .flatMap((event) => choicesOf(event))
        .filter((each) => each.index === index);
      expect(own.map((each) => each.delta.content ?? "").join("")).toBe("Hi");
      expect(own.filter((each) => each.finish_reason === "stop").length).toBe(1);
    }
    expect(events.at(-1)).toBe("[DONE]");
  });

  test("have the cached tokens of the first one, also where it ends last", async () => {
    const long = "<|channel|>final<|message|>An answer of several words.<|return|>";
    const short = "<|channel|>final<|message|>Hi<|return|>";
    const usages = [false, true].map(async (stream) => {
      const usageOf = (cachedTokens: number) => ({
        promptTokens: 70,
        completionTokens: 5,
        cachedTokens,
      });
      const choices = scriptedEngine([
        { write: long, usage: usageOf(0) },
        { write: short, usage: usageOf(64) },
      ]);
      const { post } = createBrowsingApp({ engine: choices, toolbox: {} });
      const messages = [{ role: "user", content: "hi" }];
      const options = { stream, ...(stream && { stream_options: { include_usage: true } }) };
      const response = await post("/v1/chat/completions", { messages, n: 2, ...options });
      if (!stream) return usageBody.parse(await response.json()).usage;
      return usageBody.parse((await eventsOf(response)).at(-2)).usage;
    });
    const [plain, streamed] = await Promise.all(usages);
    expect(plain?.prompt_tokens_details.cached_tokens).toBe(0);
    expect(streamed).toEqual(plain);
  });
});

const usageBody = z.object({
  usage: z.looseObject({ prompt_tokens_details: z.looseObject({ cached_tokens: z.number() }) }),
});

const envelope = z.object({ error: z.looseObject({ message: z.string() }) });

async function errorOf(response: Response) {
  return envelope.parse(await response.json());
}

const completion = z.object({
  choices: z.array(z.object({ index: z.number() })),
  usage: z.object({ prompt_tokens: z.number(), completion_tokens: z.number() }),
});

function choicesOf(event: unknown) {
  return chatChunk.safeParse(event).data?.choices ?? [];
}
