import { type CompletionRequest, createEngine } from "../../src/index.ts";
import { describe, expect, test } from "vitest";

import { LLAMA_CPP_CAPABILITIES } from "../../src/engines/llama-cpp.ts";
import {
  type Answer,
  bodyOf,
  complete,
  cuts,
  jsonAnswer,
  readFixture,
  requestOf,
  scriptTransport,
  streamOf,
} from "./support.ts";
import { requestText } from "../helpers/request-text.ts";

const NAME = "llama-cpp at http://engine:8080";

function engineOf(script: (count: number) => Answer | Error) {
  const transport = scriptTransport((_, count) => script(count));
  const engine = createEngine("llama-cpp", {
    url: "http://engine:8080",
    model: "gpt-oss-20b",
    transport,
  });
  return { engine, transport };
}

function replay(fixture: string, request?: CompletionRequest) {
  return complete(
    engineOf(() => ({ pieces: [readFixture(`llama-cpp/${fixture}`)] })).engine,
    request,
  );
}

const finishOf = (completionTokens: number, nativeReason = "eos") => ({
  type: "finish",
  reason: nativeReason === "eos" ? "stop" : "length",
  nativeReason,
  usage: { promptTokens: 5, cachedTokens: 4, completionTokens },
});

const CHANNEL = { special: 200005 };
const START = { special: 200006 };
const END = { special: 200007 };
const MESSAGE = { special: 200008 };
const RETURN = { special: 200002 };

describe("the request", () => {
  const sent = async (request: CompletionRequest) => {
    const { engine, transport } = engineOf(() => ({
      pieces: [readFixture("llama-cpp/answer.sse")],
    }));
    await complete(engine, request);
    return transport.requests[0];
  };

  test("sends every parameter, because the server's defaults differ", async () => {
    const request = await sent(requestOf());
    expect([request?.method, request?.url]).toEqual(["POST", "http://engine:8080/completion"]);
    expect(bodyOf(request)).toEqual({
      model: "gpt-oss-20b",
      prompt: [200006, 1428, 200008, 12194, 200007],
      stream: true,
      cache_prompt: true,
      return_progress: true,
      return_tokens: true,
      n_predict: 4096,
      temperature: 1,
      top_k: 0,
      top_p: 1,
      min_p: 0,
      frequency_penalty: 0,
      presence_penalty: 0,
      repeat_penalty: 1,
      seed: -1,
      typical_p: 1,
      top_n_sigma: -1,
      dry_multiplier: 0,
      xtc_probability: 0,
      dynatemp_range: 0,
      mirostat: 0,
      preserved_tokens: ["<|endoftext|>", "<|return|>", "<|call|>"],
    });
  });

  test("writes a ban as false", async () => {
    const logitBias = new Map([
      [200007, -100],
      [5, 2.5],
    ]);
    expect(
      bodyOf(await sent(requestOf({ sampling: { ...requestOf().sampling, seed: 7, logitBias } }))),
    ).toMatchObject({
      seed: 7,
      logit_bias: [
        [200007, false],
        [5, 2.5],
      ],
    });
  });

  test("sends a schema as it was written", async () => {
    const schema = '{"properties":{"b":{"maximum":1.0},"1":{}}}';
    const request = await sent(requestOf({ constraint: { type: "json-schema", schema } }));
    expect(requestText(request?.body)).toContain(`"json_schema":${schema}`);
    expect(bodyOf(request)).not.toHaveProperty("grammar");
  });

  test.each([
    [{ type: "json-object" }, { json_schema: { type: "object" } }],
    [{ type: "choice", options: ['a"b', "c\\d"] }, { grammar: 'root ::= "a\\"b" | "c\\\\d"' }],
  ] as const)("constrains from the first token on: %j", async (constraint, expected) => {
    expect(bodyOf(await sent(requestOf({ constraint })))).toMatchObject(expected);
  });
});

describe("the stream", () => {
  test("returns control tokens as ids and text as text, though ids of an emoji are missing", async () => {
    expect(await replay("answer.sse")).toEqual({
      opens: 1,
      pieces: [
        CHANNEL,
        { text: "analysis" },
        MESSAGE,
        { text: "User says hi." },
        END,
        START,
        { text: "assistant" },
        CHANNEL,
        { text: "final" },
        MESSAGE,
        { text: "Hello 👩\u200d🚀!" },
        RETURN,
      ],
      tokens: 21,
      finish: finishOf(21),
    });
  });

  test("returns a piece for each event of a read, so that a turn can end at any token", async () => {
    const { engine } = engineOf(() => ({ pieces: [readFixture("llama-cpp/answer.sse")] }));
    const events = await Array.fromAsync(
      engine.complete(requestOf(), new AbortController().signal),
    );
    const read = events.find((event) => event.type === "pieces");
    expect(read?.pieces.slice(2, 7)).toEqual([
      MESSAGE,
      { text: "User" },
      { text: " says" },
      { text: " hi" },
      { text: "." },
    ]);
  });

  test("counts the tokens of a character with the piece that completes it, cut anywhere", async () => {
    const bytes = readFixture("llama-cpp/answer.sse");
    for (const pieces of [[bytes], ...cuts(bytes)]) {
      const { engine } = engineOf(() => ({ pieces }));
      const events = await Array.fromAsync(
        engine.complete(requestOf(), new AbortController().signal),
      );
      const counted = events.flatMap((event) =>
        event.type === "pieces"
          ? event.pieces.map((piece, at) => [piece, event.counts[at]] as const)
          : [],
      );
      const several = counted.filter(([, count]) => count !== 1);
      expect(several).toEqual([
        [{ text: " 👩" }, 2],
        [{ text: "🚀" }, 2],
      ]);
    }
  });

  test("shows the call token", async () => {
    expect(await replay("tool-call.sse")).toEqual({
      opens: 1,
      pieces: [
        CHANNEL,
        { text: "commentary to=functions.get_weather " },
        { special: 200003 },
        { text: "json" },
        MESSAGE,
        { text: '{"city":"Oslo"}' },
        { special: 200012 },
      ],
      tokens: 19,
      finish: finishOf(19),
    });
  });

  test("keeps the remains of a broken character before a control token", async () => {
    expect(await replay("leftover.sse")).toEqual({
      opens: 1,
      pieces: [CHANNEL, { text: "final" }, MESSAGE, { text: "Hi\ufffd" }, END, RETURN],
      tokens: 7,
      finish: finishOf(7),
    });
  });

  test("control tokens spelled with ordinary ones are text", async () => {
    expect(await replay("spelled.sse")).toEqual({
      opens: 1,
      pieces: [CHANNEL, { text: "final" }, MESSAGE, { text: "Write <|end|> <|end|>" }, RETURN],
      tokens: 14,
      finish: finishOf(14),
    });
  });

  test("reports progress with the prompt, and nothing that cannot be progress", async () => {
    const frame = (progress: unknown) =>
      new TextEncoder().encode(
        `data: ${JSON.stringify({ content: "", tokens: [0], prompt_progress: progress })}\n\n`,
      );
    const counts = (processed: number, total = 5, cache = 2) => ({
      total,
      cache,
      processed,
      time_ms: 10.5,
    });
    const { engine } = engineOf(() => ({
      pieces: [
        frame(counts(3)),
        frame(counts(3)),
        frame(counts(2)),
        frame(counts(9)),
        frame(counts(6, 6)),
        frame(counts(4, 1_000_000)),
        frame({ ...counts(4), cache: -1 }),
        frame({ ...counts(4), total: "5" }),
        frame({}),
        frame("4"),
        // The latest progress in one read counts.
        Buffer.concat([frame(counts(4)), frame(counts(5))]),
        readFixture("llama-cpp/answer.sse"),
      ],
    }));
    const { signal } = new AbortController();
    const events = await Array.fromAsync(engine.complete(requestOf(), signal));
    expect(events.filter(({ type }) => type === "progress")).toEqual([
      { type: "progress", total: 5, cached: 2, processed: 3, elapsedMs: 10.5 },
      { type: "progress", total: 5, cached: 2, processed: 5, elapsedMs: 10.5 },
    ]);
    expect(events.slice(0, 3).map(({ type }) => type)).toEqual(["open", "progress", "progress"]);
  });

  test("drops the token id of progress events, which was never sampled", async () => {
    expect(await replay("progress.sse")).toEqual({
      opens: 1,
      pieces: [CHANNEL, RETURN],
      tokens: 2,
      finish: finishOf(2),
    });
  });

  test("a reached limit and a full context finish with length", async () => {
    expect((await replay("length.sse")).finish).toEqual(finishOf(5, "limit"));
    expect((await replay("context-full.sse")).finish).toEqual(finishOf(2, "limit"));
  });

  test("a stop token that is not sent leaves a stop without it", async () => {
    expect(await replay("eos-hidden.sse")).toEqual({
      opens: 1,
      pieces: [CHANNEL, { text: "final" }, MESSAGE, { text: "Hi" }],
      tokens: 4,
      finish: finishOf(5),
    });
  });
});

describe("failures", () => {
  test("an error after tokens, which still go out", async () => {
    expect(await replay("error-later.sse")).toEqual({
      opens: 1,
      pieces: [CHANNEL, { text: "analysis" }],
      tokens: 2,
      error: {
        kind: "server-error",
        message: `${NAME} failed (500).`,
      },
    });
  });

  test("an end without the last event", async () => {
    expect(await replay("no-finish.sse")).toMatchObject({
      tokens: 2,
      error: { kind: "closed", message: `${NAME} ended its answer without a finish reason.` },
    });
  });

  test.each([
    [400, "invalid_request_error", "Prompt is empty", "bad-request"],
    [400, "exceed_context_size_error", "the request exceeds it", "context-length"],
    [401, "authentication_error", "Invalid API Key", "auth"],
    [404, "not_found_error", "File Not Found", "not-found"],
    [500, "server_error", "[json.exception.parse_error.101] parse error", "server-error"],
    [503, "unavailable_error", "Loading model", "overloaded"],
  ])("HTTP %i %s is classified", async (status, type, message, kind) => {
    const body = { error: { code: status, message, type, n_prompt_tokens: 9, n_ctx: 8 } };
    const { engine } = engineOf(() => jsonAnswer(body, status));
    expect((await complete(engine)).error).toMatchObject({
      kind,
      message: expect.stringContaining(`(${status}).`),
    });
  });

  const fault: Answer = { pieces: [readFixture("llama-cpp/parser-fault.sse")] };
  const httpFault = jsonAnswer(
    { error: { code: 500, message: "… the expected Content-only format", type: "server_error" } },
    500,
  );

  test.each([
    ["as an event", fault],
    ["as an HTTP error", httpFault],
  ])("output the server could not parse is sampled again once: %s", async (_, first) => {
    const { engine, transport } = engineOf((count) =>
      count === 0 ? first : { pieces: [readFixture("llama-cpp/tool-call.sse")] },
    );
    expect(await complete(engine)).toEqual(await replay("tool-call.sse"));
    expect(transport.requests).toHaveLength(2);
    expect(transport.requests[1]?.body).toEqual(transport.requests[0]?.body);
  });

  test("but not twice", async () => {
    const { engine, transport } = engineOf(() => fault);
    expect(await complete(engine)).toMatchObject({ opens: 1, error: { kind: "server-error" } });
    expect(transport.requests).toHaveLength(2);
  });

  test("and not after a token", async () => {
    const begun = new TextDecoder()
      .decode(readFixture("llama-cpp/no-finish.sse"))
      .concat(new TextDecoder().decode(readFixture("llama-cpp/parser-fault.sse")));
    const { engine, transport } = engineOf(() => streamOf(begun));
    expect(await complete(engine)).toMatchObject({ tokens: 2, error: { kind: "server-error" } });
    expect(transport.requests).toHaveLength(1);
  });
});

describe("probe", () => {
  const probeWith = (answers: Readonly<Record<string, Answer>>) => {
    const transport = scriptTransport(
      ({ url }) => answers[new URL(url).pathname] ?? jsonAnswer({ error: "not found" }, 404),
    );
    const engine = createEngine("llama-cpp", {
      url: "http://engine:8080",
      model: "any name",
      transport,
    });
    return engine.probe(new AbortController().signal);
  };
  const file = (name: string): Answer => ({
    ...jsonAnswer({}),
    pieces: [readFixture(`llama-cpp/${name}`)],
  });
  const event = (frame: object): string => `data: ${JSON.stringify(frame)}\n\n`;
  const stopped = event({ content: "", tokens: [], stop: true, stop_type: "eos" });

  test("reads the context of a slot, the build and the form of the tokens", async () => {
    expect(
      await probeWith({
        "/v1/models": file("models.json"),
        "/props": file("props.json"),
        "/completion": streamOf(event({ content: "<|return|>", tokens: [200002] }), stopped),
      }),
    ).toEqual({
      description: "llama-cpp b10574-b204a5a23",
      models: ["gpt-oss-20b-mxfp4.gguf"],
      contextLength: 32768,
      capabilities: LLAMA_CPP_CAPABILITIES,
    });
  });

  test("detects that the stop token is hidden, and works without /props", async () => {
    expect(
      await probeWith({
        "/v1/models": file("models.json"),
        "/props": jsonAnswer({ error: { message: "not supported", code: 501 } }, 501),
        "/completion": streamOf(stopped),
      }),
    ).toEqual({
      description: "llama-cpp",
      models: ["gpt-oss-20b-mxfp4.gguf"],
      contextLength: 65536,
      capabilities: { ...LLAMA_CPP_CAPABILITIES, stopIdVisible: false },
    });
  });

  test("a server of another kind is detected", async () => {
    await expect(probeWith({})).rejects.toMatchObject({
      kind: "not-found",
      message: `${NAME} answers neither /v1/models nor /props. Is this the URL of a llama-server?`,
    });
  });

  test("a server that is still loading is overloaded", async () => {
    const body = { error: { code: 503, message: "Loading model", type: "unavailable_error" } };
    await expect(probeWith({ "/v1/models": jsonAnswer(body, 503) })).rejects.toMatchObject({
      kind: "overloaded",
    });
  });
});
