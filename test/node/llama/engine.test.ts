import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { CompletionRequest, EngineEvent } from "../../../src/index.ts";
import { explainLoadFailure, toTokenLogprob } from "../../../src/node/llama/engine.ts";
import { o200kHarmony, SPECIAL_TOKENS } from "../../../src/tokenizer/index.ts";
import { spelledIds, spelledPrompt, spelledRequest } from "../../helpers/spelled.ts";
import { createTinyEngine, describeWithLlama } from "../../helpers/tiny-llama.ts";

const SYSTEM =
  "<|start|>system<|message|>You are a toy.\n\n# Valid channels: analysis, commentary, final.<|end|>";
const TOOLS =
  "<|start|>developer<|message|># Tools\n\n## functions\n\nnamespace functions {\n\n" +
  "type get_weather = (_: {\nlocation: string,\n}) => any;\n\n} // namespace functions<|end|>";
const USER = "<|start|>user<|message|>Hi there<|end|>";
const ASSISTANT = "<|start|>assistant";
const FINAL = `${ASSISTANT}<|channel|>final<|message|>`;

const ANALYSIS =
  "<|channel|>analysis<|message|>The user sent a message; I should reply. ✓<|end|><|start|>assistant";
const ANSWER = "Hello!👩‍🚀 This is toy text bye<|return|>";

const never = new AbortController().signal;

describeWithLlama("llama.cpp in process", () => {
  let engine: Awaited<ReturnType<typeof createTinyEngine>>;

  beforeAll(async () => {
    engine = await createTinyEngine();
    await engine.probe(never);
  });

  afterAll(() => engine.close());

  interface Extra extends Omit<Partial<CompletionRequest>, "sampling"> {
    readonly sampling?: Partial<CompletionRequest["sampling"]>;
  }

  function requestFor(text: string, { sampling, ...extra }: Extra = {}): CompletionRequest {
    const neutral = spelledRequest(text, extra);
    return { ...neutral, sampling: { ...neutral.sampling, temperature: 0, ...sampling } };
  }

  async function collect(text: string, extra: Extra = {}) {
    const events: EngineEvent[] = [];
    for await (const event of engine.complete(requestFor(text, extra), never)) events.push(event);
    const tokens = events.filter((event) => event.type === "ids");
    const ids = tokens.flatMap((event) => event.ids);
    return {
      events,
      ids,
      text: o200kHarmony().decode(ids),
      logprobs: tokens.flatMap((event) => event.logprobs ?? []),
      finish: events.find((event) => event.type === "finish"),
    };
  }

  it("reports the loaded model", async () => {
    expect(await engine.probe(never)).toEqual({
      description: "llama.cpp in process, tiny gpt-oss",
      contextLength: 1024,
      models: ["tiny gpt-oss"],
      capabilities: engine.capabilities,
    });
  });

  describe("tokens", () => {
    it("arrive one by one, including the stop token", async () => {
      const text = SYSTEM + USER + ASSISTANT;
      const { events, ids } = await collect(text);
      expect(ids).toEqual(spelledIds(`${ANALYSIS}<|channel|>final<|message|>${ANSWER}`));
      expect(events).toEqual([
        { type: "open" },
        ...ids.map((id) => ({ type: "ids", ids: [id] })),
        {
          type: "finish",
          reason: "stop",
          nativeReason: "stop",
          usage: {
            promptTokens: spelledIds(text).length,
            cachedTokens: expect.any(Number),
            completionTokens: ids.length,
          },
        },
      ]);
    });

    it("are a call when a tool is offered", async () => {
      const { text } = await collect(SYSTEM + TOOLS + USER + ASSISTANT);
      expect(text).toBe(
        `${ANALYSIS}<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{"location":"Paris"}<|call|>`,
      );
    });

    it("end at the limit", async () => {
      const { text, finish } = await collect(SYSTEM + USER + FINAL, { maxTokens: 3 });
      expect(text).toBe("Hello!\uFFFD");
      expect(finish).toMatchObject({ reason: "length", usage: { completionTokens: 3 } });
    });

    it("end where the context ends", async () => {
      const filler = "<|start|>user<|message|>".concat(
        " a".repeat(1024 - spelledIds(SYSTEM + USER + FINAL).length - 10),
        "<|end|>",
      );
      const text = SYSTEM + filler + USER + FINAL;
      const room = 1024 - spelledIds(text).length;
      const { finish } = await collect(text);
      expect(room).toBeLessThan(10);
      expect(finish).toMatchObject({ reason: "length", usage: { completionTokens: room } });
    });

    it("end at the caller's ids", async () => {
      const { text, finish } = await collect(SYSTEM + USER + ASSISTANT, {
        stopIds: [SPECIAL_TOKENS["<|message|>"]],
      });
      expect(text).toBe("<|channel|>analysis<|message|>");
      expect(finish).toMatchObject({ reason: "stop" });
    });
  });

  describe("sampling", () => {
    const varied = { temperature: 1 };

    it("repeats itself with the same seed and not with another", async () => {
      const texts = await Promise.all(
        [4, 4, 5, 6, 7].map(async (seed) => {
          const { text } = await collect(SYSTEM + USER + ASSISTANT, {
            sampling: { ...varied, seed },
          });
          return text;
        }),
      );
      expect(texts[0]).toBe(texts[1]);
      expect(new Set(texts).size).toBeGreaterThan(1);
    });

    it("does not answer requests without a seed alike", async () => {
      const texts = await Promise.all(
        Array.from({ length: 6 }, async () => {
          const { text } = await collect(SYSTEM + USER + ASSISTANT, { sampling: varied });
          return text;
        }),
      );
      expect(new Set(texts).size).toBeGreaterThan(1);
    });

    it("never samples a banned id", async () => {
      const logitBias = new Map([[SPECIAL_TOKENS["<|end|>"], -100]]);
      const { ids } = await collect(SYSTEM + USER + ASSISTANT, {
        sampling: { logitBias },
        maxTokens: 40,
      });
      expect(ids).not.toContain(SPECIAL_TOKENS["<|end|>"]);
    });

    it("adds the bias to the logits", async () => {
      const logitBias = new Map(spelledIds(" This").map((id) => [id, 40]));
      const { text } = await collect(SYSTEM + USER + FINAL, {
        sampling: { logitBias },
        maxTokens: 1,
      });
      expect(text).toBe(" This");
    });

    it("applies penalties to written tokens", async () => {
      const sampling = { temperature: 1, seed: 7, frequencyPenalty: 40 };
      const { text } = await collect(SYSTEM + USER + ASSISTANT, { sampling, maxTokens: 60 });
      const plain = await collect(SYSTEM + USER + ASSISTANT, {
        sampling: { temperature: 1, seed: 7 },
        maxTokens: 60,
      });
      expect(text).not.toBe(plain.text);
    });

    it("returns each token's log probability, whatever the temperature", async () => {
      const likelyAt = async (temperature: number) => {
        const { logprobs, ids } = await collect(`${SYSTEM}${USER}${FINAL}Hello!`, {
          sampling: { temperature, seed: 1 },
          topLogprobs: 2,
          maxTokens: 1,
        });
        expect(logprobs.map(({ id }) => id)).toEqual(ids);
        return logprobs[0]?.top ?? [];
      };
      const cold = await likelyAt(0);
      const [emoji] = spelledIds("👩‍🚀");
      const [other] = spelledIds(" This");
      expect(cold).toEqual([
        { id: emoji, logprob: expect.closeTo(Math.log(0.7), 0) },
        { id: other, logprob: expect.closeTo(Math.log(0.3), 0) },
      ]);
      const same = cold.map(({ id, logprob }) => ({ id, logprob: expect.closeTo(logprob, 3) }));
      expect(await likelyAt(1)).toEqual(same);
      expect(await likelyAt(2)).toEqual(same);
    });
  });

  describe("constraints", () => {
    it("produce JSON that satisfies the schema", async () => {
      const schema = JSON.stringify({
        type: "object",
        properties: {
          city: { enum: ["Turin", "Oslo"] },
          warm: { type: "boolean" },
          near: { type: "array", items: { const: "Po" }, maxItems: 2 },
        },
        required: ["city", "warm", "near"],
        additionalProperties: false,
      });
      const { text, finish } = await collect(SYSTEM + USER + FINAL, {
        constraint: { type: "json-schema", schema },
        maxTokens: 200,
      });
      expect(finish).toMatchObject({ reason: "stop" });
      expect(JSON.parse(text.replace(/<\|\w+\|>$/, ""))).toEqual({
        city: expect.stringMatching(/^(Turin|Oslo)$/),
        warm: expect.any(Boolean),
        near: expect.any(Array),
      });
    });

    it("produce an object if any object is accepted", async () => {
      const { text } = await collect(SYSTEM + USER + FINAL, {
        constraint: { type: "json-object" },
      });
      expect(text).toBe('{"location":"Paris"}<|call|>');
    });

    it("produce one of several texts", async () => {
      const { text } = await collect(`${SYSTEM}${USER}${ASSISTANT} to=functions.`, {
        constraint: { type: "choice", options: ["get_weather", "get_time"] },
      });
      expect(text).toMatch(/^get_(weather|time)<\|(return|call)\|>$/);
    });

    it("are refused if no grammar can be made of them", async () => {
      const constraint = { type: "json-schema", schema: "{" } as const;
      await expect(collect(SYSTEM + USER + FINAL, { constraint })).rejects.toMatchObject({
        name: "EngineError",
        kind: "bad-request",
        message: "llama.cpp cannot convert this schema to a grammar.",
      });
    });
  });

  describe("the prefix cache", () => {
    const cachedTokens = async (text: string) => {
      const { finish } = await collect(text, { maxTokens: 40 });
      return finish?.usage?.cachedTokens;
    };

    it("serves the next turn of a conversation, although its analysis is dropped", async () => {
      const first = `${SYSTEM}<|start|>user<|message|>Turn one of a conversation of its own<|end|>${ASSISTANT}`;
      await collect(first, { maxTokens: 40 });
      const next = `${first}<|channel|>final<|message|>${ANSWER.replace("<|return|>", "<|end|>")}${USER}${ASSISTANT}`;
      expect(await cachedTokens(next)).toBeGreaterThanOrEqual(spelledIds(first).length - 1);
    });

    it("is not shared between tenants", async () => {
      const text = `${SYSTEM}<|start|>user<|message|>A question two tenants ask<|end|>${ASSISTANT}`;
      const askAs = async (cacheSalt: string) => {
        const { finish } = await collect(text, { cacheSalt, maxTokens: 1 });
        return finish?.usage?.cachedTokens;
      };
      expect(await askAs("a")).toBe(0);
      expect(await askAs("a")).toBe(spelledIds(text).length - 1);
      expect(await askAs("b")).toBe(0);
    });

    it("serves a message that is continued", async () => {
      const begun = `${SYSTEM}<|start|>user<|message|>Something to steer<|end|>${ASSISTANT}`;
      const { text } = await collect(begun, { maxTokens: 20 });
      expect(await cachedTokens(begun + text)).toBe(spelledIds(begun + text).length - 1);
    });
  });

  describe("concurrent completions", () => {
    it("share the sequences and wait for a free one", async () => {
      const completions = Array.from({ length: 5 }, () => collect(SYSTEM + USER + FINAL));
      for (const { text } of await Promise.all(completions)) expect(text).toBe(ANSWER);
    });

    it("free their sequence when they are aborted", async () => {
      const reason = new Error("The client left.");
      const leave = async () => {
        const abort = new AbortController();
        for await (const event of engine.complete(
          requestFor(SYSTEM + USER + ASSISTANT),
          abort.signal,
        )) {
          if (event.type === "ids") abort.abort(reason);
        }
      };
      await Promise.all(Array.from({ length: 4 }, () => expect(leave()).rejects.toBe(reason)));
      expect((await collect(SYSTEM + USER + FINAL)).text).toBe(ANSWER);
    });

    it("free their sequence when the reader leaves", async () => {
      for (let round = 0; round < 4; round++) {
        for await (const event of engine.complete(requestFor(SYSTEM + USER + ASSISTANT), never)) {
          if (event.type === "ids") break;
        }
      }
      expect((await collect(SYSTEM + USER + FINAL)).text).toBe(ANSWER);
    });
  });

  it("refuses a prompt that does not fit", async () => {
    await expect(collect(" a".repeat(1024))).rejects.toMatchObject({
      name: "EngineError",
      kind: "context-length",
      message: "The prompt has 1024 tokens; the context length is 1024, including the answer.",
    });
  });

  it("uses the prompt's ids unchanged", async () => {
    // Ordinary tokens that spell a header do not open an analysis message.
    const { ids } = spelledPrompt(SYSTEM + USER + ASSISTANT);
    const typed = o200kHarmony().encode("<|channel|>final<|message|>");
    const prompt = { ...spelledPrompt(""), ids: [...ids, ...typed] };
    const { finish } = await collect("", { prompt, maxTokens: 1 });
    expect(finish?.usage?.promptTokens).toBe(ids.length + typed.length);
  });
});

describe("log probabilities", () => {
  const probabilities = new Map([
    [7, 0.5],
    [8, 0.3],
    [9, 0.2],
  ]);

  it("are the logarithms of the probabilities at temperature 1", () => {
    expect(toTokenLogprob(8, probabilities, 1, 2)).toEqual({
      id: 8,
      logprob: expect.closeTo(Math.log(0.3), 10),
      top: [
        { id: 7, logprob: expect.closeTo(Math.log(0.5), 10) },
        { id: 8, logprob: expect.closeTo(Math.log(0.3), 10) },
      ],
    });
  });

  it("are those of the model whatever the temperature was", () => {
    const temperature = 0.5;
    const sharpened = Array.from(probabilities, ([id, p]) => [id, p ** (1 / temperature)] as const);
    const sum = sharpened.reduce((total, [, p]) => total + p, 0);
    const sampled = new Map(sharpened.map(([id, p]) => [id, p / sum]));
    const plain = toTokenLogprob(9, probabilities, 1, 3);
    const { logprob, top } = toTokenLogprob(9, sampled, temperature, 3);
    expect(logprob).toBeCloseTo(plain.logprob, 10);
    expect(top.map(({ id }) => id)).toEqual([7, 8, 9]);
    for (const [rank, each] of top.entries()) {
      expect(each.logprob).toBeCloseTo(plain.top[rank]?.logprob ?? 0, 10);
    }
  });

  it("do not divide by zero if the likeliest token is taken", () => {
    expect(toTokenLogprob(7, probabilities, 0, 0)).toEqual({
      id: 7,
      logprob: expect.closeTo(Math.log(0.5), 10),
      top: [],
    });
  });
});

describe("a failure to load", () => {
  it.each([
    ['Invalid GGUF magic. Expected "GGUF" but got "<!DO".', "m.gguf is not a GGUF file"],
    ["A context size of 131072 is too large for the available VRAM", "does not fit in memory"],
    ["ENOENT: no such file or directory, open 'm.gguf'", "There is no file m.gguf."],
    ["EACCES: permission denied, open 'm.gguf'", "may not read m.gguf"],
    ["EISDIR: illegal operation on a directory, read", "m.gguf is a folder."],
    ["something new", "llama.cpp cannot load m.gguf: something new"],
  ])("%s is explained", (message, sentence) => {
    expect(explainLoadFailure(new Error(message), "m.gguf").message).toContain(sentence);
  });
});
