import OpenAI from "openai";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { startTestGateway, type TestGateway } from "../../helpers/gateway.ts";
import { type Script, type ScriptedEngine, scriptedEngine } from "../../helpers/scripted-engine.ts";

const ANALYSIS = "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant";
const call = (name: string, args: string) =>
  `${ANALYSIS}<|channel|>commentary to=functions.${name} <|constrain|>json<|message|>${args}<|call|>`;

let scripts: Script[] = [];
let engine: ScriptedEngine;
let gateway: TestGateway;
let client: OpenAI;

beforeAll(async () => {
  engine = scriptedEngine(() => scripts.shift() ?? "<|return|>");
  gateway = await startTestGateway({ engine });
  client = new OpenAI({ baseURL: gateway.baseURL, apiKey: "none", maxRetries: 0 });
});
afterAll(() => gateway.close());
beforeEach(() => {
  scripts = [];
});

const model = "openai/gpt-oss-20b";
const messages = [{ role: "user" as const, content: "hi" }];

type Body = Omit<OpenAI.ChatCompletionCreateParamsNonStreaming, "model" | "messages">;

/** Sends a request plain and streamed, with equal completions. */
async function both(written: readonly Script[], body: Body) {
  scripts = [...written];
  const plain = await client.chat.completions.create({ model, messages, ...body });
  scripts = [...written];
  const stream = await client.chat.completions.create({ model, messages, ...body, stream: true });
  return { plain, chunks: await Array.fromAsync(stream) };
}

describe("a custom tool with one string argument", () => {
  const tools: OpenAI.ChatCompletionTool[] = [{ type: "custom", custom: { name: "shell" } }];
  const written = call("shell", '{"input":"ls -l \\"x\\"\\n"}');

  test("receives the string, streamed and plain", async () => {
    const { plain, chunks } = await both([written], { tools });
    const choice = plain.choices[0];
    expect(choice?.finish_reason).toBe("tool_calls");
    expect(choice?.message.tool_calls).toMatchObject([
      { type: "custom", custom: { name: "shell", input: 'ls -l "x"\n' } },
    ]);
    const deltas = chunks.flatMap((chunk) => chunk.choices[0]?.delta.tool_calls ?? []);
    expect(deltas).toMatchObject([
      { index: 0, type: "custom", custom: { name: "shell", input: "" } },
      { index: 0, custom: { input: 'ls -l "x"\n' } },
    ]);
  });

  test("has its result in the next prompt", async () => {
    scripts = ["<|channel|>final<|message|>ok<|return|>"];
    const custom = { name: "shell", input: "ls" };
    await client.chat.completions.create({
      model,
      tools,
      messages: [
        ...messages,
        { role: "assistant", content: null, tool_calls: [{ id: "c1", type: "custom", custom }] },
        { role: "tool", tool_call_id: "c1", content: "a.txt" },
      ],
    });
    expect(engine.prompts.at(-1)).toContain(
      '<|channel|>commentary to=functions.shell <|constrain|>json<|message|>{"input":"ls"}<|call|>' +
        "<|start|>functions.shell to=assistant<|channel|>commentary<|message|>a.txt<|end|>",
    );
  });
});

test("legacy functions are answered with function_call, streamed and plain", async () => {
  const { plain, chunks } = await both([call("f", '{"a":1}')], { functions: [{ name: "f" }] });
  expect(plain.choices[0]).toMatchObject({
    finish_reason: "function_call",
    message: { content: null, function_call: { name: "f", arguments: '{"a":1}' } },
  });
  const deltas = chunks.flatMap((chunk) => chunk.choices[0]?.delta.function_call ?? []);
  expect(deltas[0]?.name).toBe("f");
  expect(deltas.map((delta) => delta.arguments).join("")).toBe('{"a":1}');
  expect(chunks.flatMap((chunk) => chunk.choices[0]?.finish_reason ?? [])).toEqual([
    "function_call",
  ]);
});

describe("log probabilities", () => {
  const written = `${ANALYSIS}<|channel|>final<|message|>Hello there<|return|>`;

  test("cover the answer, with text and bytes, streamed and plain", async () => {
    const { plain, chunks } = await both([written], { logprobs: true, top_logprobs: 1 });
    const content = plain.choices[0]?.logprobs?.content;
    expect(content).toEqual([
      {
        token: "Hello",
        bytes: [72, 101, 108, 108, 111],
        logprob: -0.013225,
        top_logprobs: [{ token: "Hello", bytes: [72, 101, 108, 108, 111], logprob: -0.013225 }],
      },
      expect.objectContaining({ token: " there" }),
    ]);
    const streamed = chunks.flatMap((chunk) => chunk.choices[0]?.logprobs?.content ?? []);
    expect(streamed).toEqual(content);
  });

  test("contain the bytes of characters that are split between tokens", async () => {
    const text = "Hi 👩‍🚀!";
    const { plain, chunks } = await both([`<|channel|>final<|message|>${text}<|return|>`], {
      logprobs: true,
    });
    const content = plain.choices[0]?.logprobs?.content ?? [];
    const bytes = Uint8Array.from(content.flatMap((each) => each.bytes ?? []));
    expect(new TextDecoder().decode(bytes)).toBe(text);
    expect(chunks.flatMap((chunk) => chunk.choices[0]?.logprobs?.content ?? [])).toEqual(content);
  });

  test("are null unless requested", async () => {
    const { plain } = await both([written], {});
    expect(plain.choices[0]?.logprobs).toBeNull();
  });
});

test("each choice of a seeded request is sampled with its own seed", async () => {
  const before = engine.requests.length;
  const answer = "<|channel|>final<|message|>x<|return|>";
  scripts = [answer, answer, answer];
  await client.chat.completions.create({ model, messages, n: 3, seed: 7 });
  const seeds = engine.requests.slice(before).map((request) => request.sampling.seed);
  expect(seeds).toEqual([7, 8, 9]);
});

test("sampling parameters reach the engine; absent ones have the model's default values", async () => {
  scripts = ["<|return|>", "<|return|>", "<|return|>", "<|return|>"];
  await client.chat.completions.create({ model, messages });
  expect(engine.requests.at(-1)?.sampling).toEqual({
    temperature: 1,
    topP: 1,
    topK: 0,
    minP: 0,
    frequencyPenalty: 0,
    presencePenalty: 0,
    repetitionPenalty: 1,
  });
  const extensions = { top_k: 5, min_p: 0.1, repetition_penalty: 1.2 };
  await client.chat.completions.create({
    model,
    messages,
    temperature: 0.5,
    top_p: 0.9,
    frequency_penalty: 1,
    presence_penalty: -1,
    logit_bias: { "1354": -100 },
    ...extensions,
  });
  expect(engine.requests.at(-1)?.sampling).toEqual({
    temperature: 0.5,
    topP: 0.9,
    topK: 5,
    minP: 0.1,
    frequencyPenalty: 1,
    presencePenalty: -1,
    repetitionPenalty: 1.2,
    logitBias: new Map([[1354, -100]]),
  });
});

describe("a response format that the model violates", () => {
  const body: Body = {
    response_format: {
      type: "json_schema",
      json_schema: { name: "out", schema: { type: "object" } },
    },
  };
  const wrong: Script[] = ["<|channel|>final<|message|>nope<|return|>", "nope<|return|>"];
  const error = {
    code: "invalid_answer",
    message: expect.stringContaining("does not satisfy the response format"),
    metadata: { error_type: "invalid_answer" },
  };

  test("is reported as the choice's error in a plain reply, with its usage", async () => {
    scripts = [...wrong];
    const response = await fetch(`${gateway.baseURL}/chat/completions`, {
      method: "POST",
      body: JSON.stringify({ messages, ...body }),
    });
    expect(response.status).toBe(200);
    const completion = await response.json();
    expect(completion).toMatchObject({
      choices: [{ finish_reason: "error", error, message: { content: "" } }],
    });
    const { usage } = z
      .object({ usage: z.looseObject({ completion_tokens: z.number() }) })
      .parse(completion);
    expect(usage.completion_tokens).toBeGreaterThan(4);
    const id = response.headers.get("x-request-id");
    expect(gateway.logged).toContainEqual(
      expect.objectContaining({ event: "turn", id, finish: "error", error: "invalid_answer" }),
    );
  });

  test.each([false, true])(
    "keeps the engine's native finish reason, stream: %s",
    async (stream) => {
      scripts = [...wrong];
      const response = await fetch(`${gateway.baseURL}/chat/completions`, {
        method: "POST",
        body: JSON.stringify({ messages, ...body, stream }),
      });
      expect(await response.text()).toMatch(
        /"finish_reason":"error","native_finish_reason":"stop"/,
      );
    },
  );

  test("is thrown by the client of a stream", async () => {
    scripts = [...wrong];
    const stream = await client.chat.completions.create({ model, messages, ...body, stream: true });
    await expect(Array.fromAsync(stream)).rejects.toThrow(/does not satisfy the response format/);
  });
});

test("a stop string across preamble and answer is not emitted", async () => {
  const written =
    "<|channel|>commentary<|message|>One moment.<|end|><|start|>assistant" +
    "<|channel|>final<|message|>Hello<|return|>";
  const { plain, chunks } = await both([written], { stop: ["\n\n"] });
  const deltas = chunks.map((chunk) => chunk.choices[0]?.delta.content ?? "");
  expect([plain.choices[0]?.message.content, deltas.join("")]).toEqual([
    "One moment.",
    "One moment.",
  ]);
});

test("a delta that only goes on with reasoning is the same as the first without role and format", async () => {
  const written = `<|channel|>analysis<|message|>one two th"ree<|end|><|start|>assistant`;
  const { chunks } = await both([`${written}<|channel|>final<|message|>Hi.<|return|>`], {});
  const deltas = chunks.flatMap(({ choices }) => choices.map(({ delta }) => delta));
  const detail = { type: "reasoning.text", index: 0 };
  const [first, ...others] = deltas
    .filter((delta) => "reasoning" in delta)
    .map((delta) => [delta, z.object({ reasoning: z.string() }).parse(delta).reasoning] as const);
  expect(first).toEqual([
    {
      role: "assistant",
      content: "",
      reasoning: "one",
      reasoning_content: "one",
      reasoning_details: [{ ...detail, text: "one", format: "unknown" }],
    },
    "one",
  ]);
  expect(others.map(([, text]) => text).join("")).toBe(' two th"ree');
  for (const [delta, text] of others) {
    expect(delta).toEqual({
      content: "",
      reasoning: text,
      reasoning_content: text,
      reasoning_details: [{ ...detail, text }],
    });
  }
});
