import { describe, expect, test } from "vitest";

import { type CompletionRequest, createEngine } from "../../src/index.ts";
import {
  createLineSplitter,
  OLLAMA_CAPABILITIES,
  type OllamaOptions,
} from "../../src/engines/ollama.ts";
import {
  type Answer,
  bodyOf,
  complete,
  jsonAnswer,
  readFixture,
  requestOf,
  scriptTransport,
  streamOf,
  cuts,
  eventsOf,
} from "./support.ts";

const NAME = "ollama at http://engine:11434";
const NDJSON = { "content-type": "application/x-ndjson" };

function engineOf(answer: Answer | Error, options: Partial<OllamaOptions> = {}) {
  const transport = scriptTransport(() => answer);
  const engine = createEngine("ollama", {
    url: "http://engine:11434",
    model: "gpt-oss:20b",
    transport,
    ...options,
  });
  return { engine, transport };
}

function replay(fixture: string) {
  const pieces = [readFixture(`ollama/${fixture}`)];
  return complete(engineOf({ headers: NDJSON, pieces }).engine);
}

describe("the request", () => {
  const sent = async (request: CompletionRequest, options: Partial<OllamaOptions> = {}) => {
    const pieces = [readFixture("ollama/answer.ndjson")];
    const { engine, transport } = engineOf({ pieces }, options);
    await complete(engine, request);
    return transport.requests[0];
  };

  test("is raw, turns thinking off, and sends every parameter", async () => {
    const request = await sent(requestOf());
    expect([request?.method, request?.url]).toEqual(["POST", "http://engine:11434/api/generate"]);
    expect(bodyOf(request)).toEqual({
      model: "gpt-oss:20b",
      raw: true,
      think: false,
      stream: true,
      prompt: "<|start|>user<|message|>Hi<|end|>",
      truncate: false,
      shift: false,
      options: {
        num_predict: 4096,
        num_ctx: 32768,
        temperature: 1,
        top_k: 0,
        top_p: 1,
        min_p: 0,
        typical_p: 1,
        frequency_penalty: 0,
        presence_penalty: 0,
        repeat_penalty: 1,
        seed: -1,
      },
    });
  });

  test("sends the configured context length and the seed", async () => {
    const request = await sent(requestOf({ sampling: { ...requestOf().sampling, seed: 7 } }), {
      contextLength: 8192,
    });
    expect(bodyOf(request)).toMatchObject({ options: { num_ctx: 8192, seed: 7 } });
  });

  const schema = '{"properties":{"b":{"maximum":1.0},"1":{}}}';
  test.each([
    [{ type: "json-schema", schema }, `"format":${schema}`],
    [{ type: "json-object" }, '"format":"json"'],
  ] as const)("constrains from the first token on: %j", async (constraint, expected) => {
    expect((await sent(requestOf({ constraint })))?.body).toContain(expected);
  });

  test("has no constraint for a choice of texts, and does not list it", async () => {
    const request = await sent(requestOf({ constraint: { type: "choice", options: ["a"] } }));
    expect(bodyOf(request)).not.toHaveProperty("format");
    expect(OLLAMA_CAPABILITIES.constraints).toEqual(["json-schema", "json-object"]);
  });
});

describe("the stream", () => {
  test("gives the text with its control tokens", async () => {
    expect(await replay("answer.ndjson")).toEqual({
      opens: 1,
      text: "<|channel|>analysis<|message|>User says hi.<|end|><|start|>assistant<|channel|>final<|message|>Hello 👩\u200d🚀!",
      finish: {
        type: "finish",
        reason: "stop",
        nativeReason: "stop",
        usage: { promptTokens: 70, completionTokens: 21 },
      },
    });
  });

  test("keeps text that the server's parser moved to other fields, in its place", async () => {
    expect((await replay("thinking.ndjson")).text).toBe("<|channel|>analysis<|message|>Hm<|end|>");
  });

  test("a reached limit finishes with length", async () => {
    expect((await replay("length.ndjson")).finish).toMatchObject({
      reason: "length",
      nativeReason: "length",
    });
  });
});

describe("failures", () => {
  test("an error line after tokens, which still go out", async () => {
    expect(await replay("error-later.ndjson")).toEqual({
      opens: 1,
      text: "<|channel|>analysis",
      error: {
        kind: "server-error",
        message: `${NAME} failed.`,
      },
    });
  });

  test("a silent end, as after many equal chunks", async () => {
    expect(await replay("no-finish.ndjson")).toEqual({
      opens: 1,
      text: "<|channel|>analysis",
      error: { kind: "closed", message: `${NAME} ended its answer without a finish reason.` },
    });
  });

  test("an answer in one JSON object is not a stream", async () => {
    const body = { response: "hi", done: true };
    expect((await complete(engineOf(jsonAnswer(body)).engine)).error?.kind).toBe("server-error");
  });

  test.each([
    [400, { error: "raw mode does not support template, system, or context" }, "bad-request"],
    [400, { error: "the input length exceeds the context length" }, "context-length"],
    [404, { error: "model 'x' not found" }, "not-found"],
    [500, { error: "llama runner process has terminated" }, "server-error"],
    [
      503,
      { error: "server busy, please try again. maximum pending requests exceeded" },
      "overloaded",
    ],
  ])("HTTP %i %j", async (status, body, kind) => {
    expect((await complete(engineOf(jsonAnswer(body, status)).engine)).error?.kind).toBe(kind);
  });

  test("an endless line is cut off, not kept in memory", async () => {
    const piece = "x".repeat(6 * 1024 * 1024);
    const { engine } = engineOf({ ...streamOf(piece, piece, piece), headers: NDJSON });
    expect((await complete(engine)).error).toEqual({
      kind: "server-error",
      message: `${NAME} sent an invalid response: a line longer than 16777216 characters.`,
    });
  });
});

describe("probe", () => {
  const file = (name: string): Answer => ({
    ...jsonAnswer({}),
    pieces: [readFixture(`ollama/${name}`)],
  });
  const probeWith = (
    answers: Readonly<Record<string, Answer>>,
    options: Partial<OllamaOptions> = {},
  ) => {
    const transport = scriptTransport(
      ({ url }) => answers[new URL(url).pathname] ?? jsonAnswer({ error: "not found" }, 404),
    );
    const engine = createEngine("ollama", {
      url: "http://engine:11434",
      model: "gpt-oss:20b",
      transport,
      ...options,
    });
    return { transport, probe: () => engine.probe(new AbortController().signal) };
  };
  const known = {
    "/api/tags": file("tags.json"),
    "/api/show": file("show.json"),
    "/api/version": jsonAnswer({ version: "0.31.2" }),
    "/api/generate": { headers: NDJSON, pieces: [readFixture("ollama/length.ndjson")] },
  };

  test("reports the context it will request, and probes without a bias, which is not supported", async () => {
    const { probe, transport } = probeWith(known);
    expect(await probe()).toEqual({
      description: "ollama 0.31.2",
      models: ["gpt-oss:20b", "other:latest"],
      contextLength: 32768,
      capabilities: { ...OLLAMA_CAPABILITIES, showsMarkers: true },
    });
    const generate = transport.requests.find(({ url }) => url.endsWith("generate"));
    expect(bodyOf(generate)).not.toHaveProperty("options.logit_bias");
  });

  test("never reports more than the model supports", async () => {
    const { probe } = probeWith(known, { contextLength: 1_000_000 });
    expect((await probe()).contextLength).toBe(131072);
  });

  test("a name without a tag means latest", async () => {
    await expect(probeWith(known, { model: "other" }).probe()).resolves.toMatchObject({
      contextLength: 32768,
    });
    await expect(probeWith(known, { model: "gpt-oss" }).probe()).rejects.toMatchObject({
      kind: "not-found",
      message: `${NAME} offers "gpt-oss:20b", "other:latest", not "gpt-oss:latest". Set the model to a name that the server offers.`,
    });
  });

  test("a server of another kind is detected", async () => {
    await expect(probeWith({}).probe()).rejects.toMatchObject({
      kind: "not-found",
      message: `${NAME} has no list of models at /api/tags. Is this the URL of an Ollama server?`,
    });
  });
});

describe("lines of JSON", () => {
  const encode = (text: string): Uint8Array => new TextEncoder().encode(text);
  test.each([
    ["lines", "a\nb\n", ["a", "b"]],
    ["carriage returns, which JSON takes for blanks", "a\r\nb\r\n", ["a\r", "b\r"]],
    ["blank lines, which are dropped", "\n \na\n\r\n", ["a"]],
    ["characters of four bytes", "👩\u200d🚀 ü\n", ["👩\u200d🚀 ü"]],
    ["a line without end, which is dropped", "a\nhalf", ["a"]],
  ])("%s, cut anywhere", (_, stream, expected) => {
    for (const pieces of cuts(encode(stream))) {
      const splitter = createLineSplitter();
      expect(pieces.flatMap((piece) => eventsOf(splitter, piece))).toEqual(expected);
    }
  });

  test("returns the lines of one push together", () => {
    const splitter = createLineSplitter();
    expect(eventsOf(splitter, encode("a\nb\nc"))).toEqual(["a", "b"]);
    expect(eventsOf(splitter, encode("d\n"))).toEqual(["cd"]);
  });
});
