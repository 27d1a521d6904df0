/**
 * Requirements for every engine reached over HTTP, tested with its server's recorded streams. A new engine adds its
 * line to `RECORDED` and its fixtures; specific behaviour has its own test file.
 */
import { globSync } from "node:fs";
import { describe, expect, test } from "vitest";
import {
  type CompletionRequest,
  createEngine,
  ENGINE_KINDS,
  type EngineEvent,
  type EngineKind,
} from "../../src/index.ts";
import { expectAnswer, expectLogprobs, expectUsage } from "./contract-checks.ts";
import {
  type Answer,
  complete,
  cuts,
  jsonAnswer,
  readFixture,
  requestOf,
  scriptTransport,
} from "./support.ts";
import { requestText } from "../helpers/request-text.ts";
import { NEUTRAL_SAMPLING } from "../helpers/spelled.ts";

interface Recording {
  /** A complete response, under `test/fixtures/engines`. */
  readonly answer: string;
  /** A response with two alternatives a token, for engines whose capabilities claim log probabilities. */
  readonly logprobs?: string;
}

const RECORDED: Readonly<Record<Exclude<EngineKind, "demo" | "llama">, Recording>> = {
  vllm: { answer: "vllm/answer.sse", logprobs: "vllm/logprobs.sse" },
  sglang: { answer: "sglang/incremental.sse", logprobs: "sglang/logprobs-incremental.sse" },
  "llama-cpp": { answer: "llama-cpp/answer.sse" },
  trtllm: { answer: "trtllm/answer.sse" },
  ollama: { answer: "ollama/answer.ndjson" },
  fireworks: { answer: "fireworks/answer.sse" },
  completions: { answer: "completions/answer.sse" },
};

function isRecorded(kind: EngineKind): kind is keyof typeof RECORDED {
  return kind in RECORDED;
}

/** All streams of the server that are recorded or written by hand, but those of another endpoint. */
function streamsOf(kind: EngineKind): string[] {
  return globSync(`${kind}/*.{sse,ndjson}`, {
    cwd: new URL("../fixtures/engines/", import.meta.url),
  }).filter((path) => path !== "vllm/generate.sse");
}

function serve(kind: EngineKind, answer: Answer | Error) {
  const transport = scriptTransport(() => answer);
  const engine = createEngine(kind, {
    url: "http://127.0.0.1:9",
    model: "openai/gpt-oss-20b",
    apiKey: "secret-key",
    transport,
  });
  return { engine, transport };
}

describe.each(ENGINE_KINDS.filter(isRecorded))("%s", (kind) => {
  const bytes = readFixture(RECORDED[kind].answer);
  const { capabilities } = serve(kind, { pieces: [] }).engine;

  test("opens once, gives tokens in its form, and finishes once with a reason", async () => {
    expectAnswer(await complete(serve(kind, { pieces: [bytes] }).engine), capabilities);
  });

  test.each(streamsOf(kind))("returns the same wherever the bytes are split: %s", async (path) => {
    const stream = readFixture(path);
    const request = requestOf(path.includes("logprobs") ? { topLogprobs: 2 } : {});
    const whole = await complete(serve(kind, { pieces: [stream] }).engine, request);
    for (const pieces of cuts(stream)) {
      expect(await complete(serve(kind, { pieces }).engine, request)).toEqual(whole);
    }
  });

  test("leaves the connection reusable after the finish, and closes it at once otherwise", async () => {
    const closesOf = async (pieces: Uint8Array[], isLast: (event: EngineEvent) => boolean) => {
      const { engine, transport } = serve(kind, { pieces });
      for await (const event of engine.complete(requestOf(), new AbortController().signal)) {
        if (isLast(event)) break;
      }
      return transport.closes;
    };
    expect(await closesOf([bytes], () => false)).toEqual([250]);
    expect(await closesOf([bytes], ({ type }) => type === "finish")).toEqual([250]);
    expect(await closesOf([bytes], ({ type }) => type === "open")).toEqual(["at once"]);
    const half = [bytes.subarray(0, bytes.length / 2), bytes];
    expect(await closesOf(half, ({ type }) => type !== "open")).toEqual(["at once"]);
  });

  test("sends nothing when the signal has aborted", async () => {
    const { engine, transport } = serve(kind, { pieces: [bytes] });
    await expect(
      complete(engine, requestOf(), AbortSignal.abort(new Error("left"))),
    ).rejects.toThrow("left");
    expect(transport.requests).toEqual([]);
  });

  test("a stream that breaks off is an error, whatever was received", async () => {
    const half = { pieces: [bytes.subarray(0, bytes.length / 2)] };
    expect(await complete(serve(kind, half).engine)).toMatchObject({ error: { kind: "closed" } });
  });

  test("an unreadable event is a server error that quotes nothing", async () => {
    const text = kind === "ollama" ? "{secret\n" : "data: {secret\n\n";
    const { error } = await complete(
      serve(kind, { pieces: [new TextEncoder().encode(text)] }).engine,
    );
    expect(error).toMatchObject({
      kind: "server-error",
      message: expect.not.stringContaining("{secret"),
    });
  });

  test.each([
    [400, "bad-request"],
    [401, "auth"],
    [429, "rate-limit"],
    [500, "server-error"],
    [503, "overloaded"],
  ])("status %i is %s, and the key is in no message", async (status, expected) => {
    const body = { error: { message: "no, secret-key" } };
    const { error } = await complete(serve(kind, jsonAnswer(body, status)).engine);
    expect(error?.kind).toBe(expected);
    expect(error?.message).not.toContain("secret-key");
  });

  test("sends the prompt in the form it takes, its limit, and the key", async () => {
    const { engine, transport } = serve(kind, { pieces: [bytes] });
    await complete(engine, requestOf({ maxTokens: 1234 }));
    const [sent] = transport.requests;
    expect(sent?.headers["authorization"]).toBe("Bearer secret-key");
    expect(requestText(sent?.body)).toContain(":1234");
    expect(requestText(sent?.body)).toContain(
      capabilities.idsIn
        ? "[200006,1428,200008,12194,200007]"
        : '"<|start|>user<|message|>Hi<|end|>"',
    );
  });

  test("sends every sampling parameter in its capabilities", async () => {
    const body = async (sampling: CompletionRequest["sampling"]) => {
      const { engine, transport } = serve(kind, { pieces: [bytes] });
      await complete(engine, requestOf({ sampling }));
      return transport.requests[0]?.body;
    };
    const neutral = await body(NEUTRAL_SAMPLING);
    const changes = {
      temperature: 0.123,
      topP: 0.456,
      topK: 7,
      minP: 0.0789,
      frequencyPenalty: 0.321,
      presencePenalty: 0.654,
      repetitionPenalty: 1.987,
      seed: 4711,
      logitBias: new Map([[123, -50]]),
    } satisfies Required<CompletionRequest["sampling"]>;
    for (const name of capabilities.sampling) {
      expect([name, await body({ ...NEUTRAL_SAMPLING, [name]: changes[name] })]).not.toEqual([
        name,
        neutral,
      ]);
    }
  });

  test("sends every constraint in its capabilities", async () => {
    const constraints = {
      "json-schema": { type: "json-schema", schema: '{"const":"here it is"}' },
      "json-object": { type: "json-object" },
      choice: { type: "choice", options: ["here", "it", "is"] },
      "structural-tag": { type: "structural-tag", tag: '{"here":"it is"}' },
      "token-grammar": { type: "token-grammar", grammar: 'root ::= "here it is"' },
      grammar: { type: "grammar", grammar: 'root ::= "here it is"' },
      lark: { type: "lark", grammar: 'start: "here it is"' },
      regex: { type: "regex", pattern: "here it is" },
    } as const;
    const body = async (type?: keyof typeof constraints) => {
      const { engine, transport } = serve(kind, { pieces: [bytes] });
      await complete(engine, requestOf(type && { constraint: constraints[type] }));
      return transport.requests[0]?.body;
    };
    const free = await body();
    for (const type of capabilities.constraints) {
      expect([type, await body(type)]).not.toEqual([type, free]);
    }
  });

  test("reports the tokens of the prompt and of the answer", async () => {
    expectUsage(await complete(serve(kind, { pieces: [bytes] }).engine));
  });

  const bodyWithStopIds = async (stopIds: readonly number[]) => {
    const { engine, transport } = serve(kind, { pieces: [bytes] });
    await complete(engine, requestOf({ stopIds }));
    return requestText(transport.requests[0]?.body);
  };

  test.runIf(capabilities.stopIds)(
    "sends stop ids, and the model's own with them (skipped where the engine takes none)",
    async () => {
      expect(await bodyWithStopIds([4242, 4343])).toMatch(/\b4242,\s*4343\b/);
      expect(await bodyWithStopIds([])).toMatch(/\b199999,\s*200002,\s*200012\b/);
    },
  );

  test.skipIf(capabilities.stopIds)(
    "does not send stop ids (skipped where the engine takes them)",
    async () => {
      expect(await bodyWithStopIds([4242, 4343])).toBe(await bodyWithStopIds([]));
    },
  );

  const ask = async (topLogprobs: number | undefined, answer: Uint8Array) => {
    const { engine, transport } = serve(kind, { pieces: [answer] });
    const request = requestOf(topLogprobs === undefined ? {} : { topLogprobs });
    const found = await complete(engine, request);
    return { found, body: requestText(transport.requests[0]?.body) };
  };
  const { logprobs: recording = "" } = RECORDED[kind];

  test("has a recording of log probabilities if it claims them", () => {
    expect(recording !== "").toBe(capabilities.logprobs);
  });

  test.skipIf(capabilities.logprobs)(
    "does not ask for log probabilities (skipped where the engine has them)",
    async () => {
      const plain = await ask(undefined, bytes);
      expect(plain.found.logprobs).toBeUndefined();
      expect(await ask(2, bytes)).toEqual(plain);
    },
  );

  test.runIf(capabilities.logprobs)(
    "gives log probabilities parallel to its ids (skipped where the engine has none)",
    async () => {
      const plain = await ask(undefined, bytes);
      expect(plain.found.logprobs).toBeUndefined();
      const { found, body } = await ask(2, readFixture(recording));
      expect(body).not.toBe(plain.body);
      expectLogprobs(found, 2);
    },
  );
});
