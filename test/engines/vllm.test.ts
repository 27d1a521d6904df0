import { describe, expect, test, vi } from "vitest";

import {
  type CompletionRequest,
  createEngine,
  EngineError,
  type Transport,
} from "../../src/index.ts";
import { consume } from "../../src/streams/push-stream.ts";
import { VLLM_CAPABILITIES, type VllmOptions } from "../../src/engines/vllm.ts";
import {
  type Answer,
  ANSWER_WITH_LOGPROBS,
  bodyOf,
  complete,
  jsonAnswer,
  readFixture,
  requestOf,
  scriptTransport,
  streamOf,
} from "./support.ts";
import { createFakeClock } from "./pool/support.ts";
import { requestText } from "../helpers/request-text.ts";

const NAME = "vllm at http://engine:8000";

function engineOf(answer: Answer | Error, options: Partial<VllmOptions> = {}) {
  const transport = scriptTransport(() => answer);
  const engine = createEngine("vllm", {
    url: "http://engine:8000",
    model: "openai/gpt-oss-20b",
    transport,
    ...options,
  });
  return { engine, transport };
}

function replay(fixture: string, request?: CompletionRequest) {
  return complete(engineOf({ pieces: [readFixture(`vllm/${fixture}`)] }).engine, request);
}

const ANSWER_IDS = [
  200005, 35644, 200008, 1844, 5003, 5911, 13, 200007, 200006, 173781, 200005, 17196, 200008, 13225,
  61138, 102, 2524, 112927, 222, 0, 200002,
];

describe("the request", () => {
  const sent = async (request: CompletionRequest, options: Partial<VllmOptions> = {}) => {
    const { engine, transport } = engineOf({ pieces: [readFixture("vllm/answer.sse")] }, options);
    await complete(engine, request);
    return transport.requests[0];
  };

  test("sends every parameter, including neutral values", async () => {
    const request = await sent(requestOf());
    expect([request?.method, request?.url]).toEqual(["POST", "http://engine:8000/v1/completions"]);
    expect(request?.headers).toEqual({
      "accept-encoding": "identity",
      "content-type": "application/json",
    });
    expect(bodyOf(request)).toEqual({
      model: "openai/gpt-oss-20b",
      prompt: [200006, 1428, 200008, 12194, 200007],
      stream: true,
      stream_options: { include_usage: true },
      max_tokens: 4096,
      temperature: 1,
      top_p: 1,
      top_k: -1,
      min_p: 0,
      frequency_penalty: 0,
      presence_penalty: 0,
      repetition_penalty: 1,
      stop_token_ids: [199999, 200002, 200012],
      return_token_ids: true,
      skip_special_tokens: false,
      spaces_between_special_tokens: false,
      include_stop_str_in_output: true,
      request_id: "px-1-hg1",
    });
  });

  test("sends optional fields if they are given", async () => {
    const request = await sent(
      requestOf({
        sampling: {
          ...requestOf().sampling,
          topK: 40,
          seed: 7,
          logitBias: new Map([[200007, -100]]),
        },
        stopIds: [200008],
        cacheSalt: "tenant-7f",
        topLogprobs: 3,
      }),
      { apiKey: "secret" },
    );
    expect(request?.headers["authorization"]).toBe("Bearer secret");
    expect(bodyOf(request)).toMatchObject({
      top_k: 40,
      seed: 7,
      logit_bias: { "200007": -100 },
      stop_token_ids: [199999, 200002, 200012, 200008],
      cache_salt: "tenant-7f",
      logprobs: 3,
      return_tokens_as_token_ids: true,
    });
  });

  test("sends a schema as it was written, including key order and numbers", async () => {
    const schema = '{"type":"object","properties":{"b":{"maximum":1.0},"a":{},"1":{}}}';
    const request = await sent(requestOf({ constraint: { type: "json-schema", schema } }));
    expect(requestText(request?.body)).toContain(`"structured_outputs":{"json":${schema}}`);
  });

  test.each([
    [{ type: "json-object" }, { json_object: true }],
    [{ type: "choice", options: ['a"b', "c"] }, { choice: ['a"b', "c"] }],
  ] as const)("constrains from the first token on: %j", async (constraint, expected) => {
    expect(bodyOf(await sent(requestOf({ constraint })))).toMatchObject({
      structured_outputs: expected,
    });
  });

  test("lets the operator's fields override ours", async () => {
    const request = await sent(requestOf(), {
      extraBody: { priority: 2, top_k: 5, prompt: [1], min_p: null },
    });
    expect(bodyOf(request)).toMatchObject({ priority: 2, top_k: 5, prompt: [1] });
    expect(bodyOf(request)).not.toHaveProperty("min_p");
    expect(requestText(request?.body).match(/"prompt":/g)).toHaveLength(1);
  });

  test("leaves an empty salt out, which would be refused", async () => {
    expect(bodyOf(await sent(requestOf({ cacheSalt: "" })))).not.toHaveProperty("cache_salt");
  });

  test("gives each call a unique id, because an id in use is refused", async () => {
    const { engine, transport } = engineOf({ pieces: [readFixture("vllm/answer.sse")] });
    await complete(engine);
    await complete(engine);
    expect(transport.requests.map((request) => bodyOf(request))).toMatchObject([
      { request_id: "px-1-hg1" },
      { request_id: "px-1-hg2" },
    ]);
  });
});

describe("the stream", () => {
  test("returns every id, including those without text, and the stop id", async () => {
    expect(await replay("answer.sse")).toEqual({
      opens: 1,
      ids: ANSWER_IDS,
      finish: {
        type: "finish",
        reason: "stop",
        nativeReason: "stop",
        usage: { promptTokens: 5, cachedTokens: 0, completionTokens: 21 },
      },
    });
  });

  test("ignores pings and ends with the call token", async () => {
    expect(await replay("tool-call.sse")).toEqual({
      opens: 1,
      ids: [
        200005, 12606, 815, 316, 28, 44580, 775, 170154, 200003, 4108, 200008, 10848, 17500, 7534,
        15097, 746, 18583, 200012,
      ],
      finish: {
        type: "finish",
        reason: "stop",
        nativeReason: "stop",
        usage: { promptTokens: 5, cachedTokens: 4, completionTokens: 18 },
      },
    });
  });

  test("returns the stop id when the server only names it", async () => {
    expect(await replay("stop-only-named.sse")).toMatchObject({
      ids: [200005, 17196, 200008, 12194, 200002],
    });
  });

  test("returns a stop id once, if it is named after it was sent", async () => {
    const event = (choice: object): string => `data: ${JSON.stringify({ choices: [choice] })}\n\n`;
    const { engine } = engineOf(
      streamOf(
        event({ token_ids: [12194, 200002], finish_reason: null }),
        event({ token_ids: [], finish_reason: "stop", stop_reason: 200002 }),
      ),
    );
    expect((await complete(engine)).ids).toEqual([12194, 200002]);
  });

  test("a reached limit finishes with length", async () => {
    expect(await replay("length.sse")).toEqual({
      opens: 1,
      ids: [200005, 35644, 200008, 1844, 5003],
      finish: {
        type: "finish",
        reason: "length",
        nativeReason: "length",
        usage: { promptTokens: 5, completionTokens: 5 },
      },
    });
  });

  test("a loop that the server cut off finishes with length and keeps the native reason", async () => {
    expect((await replay("repetition.sse")).finish).toMatchObject({
      reason: "length",
      nativeReason: "repetition",
    });
  });

  test("passes on ids that are invalid in Harmony: the parser drops them", async () => {
    expect(await replay("stray-ids.sse")).toMatchObject({
      ids: [200005, 17196, 200008, 200019, 201087, 200018, 199998, 199999],
      finish: { reason: "stop" },
    });
  });

  test("falls back to text if a server sends no ids", async () => {
    expect(await replay("text-only.sse")).toEqual({
      opens: 1,
      text: "<|channel|>analysis<|message|>User says hi.<|end|><|start|>assistant<|channel|>final<|message|>Hello 👩\u200d🚀!<|return|>",
      finish: {
        type: "finish",
        reason: "stop",
        nativeReason: "stop",
        usage: { promptTokens: 5, completionTokens: 21 },
      },
    });
  });

  test("gives the log probability of each id, and as many alternatives as requested", async () => {
    expect(await replay("logprobs.sse", requestOf({ topLogprobs: 2 }))).toMatchObject(
      ANSWER_WITH_LOGPROBS,
    );
  });

  test("reads ids from the names of log probabilities if there are no others", async () => {
    expect(await replay("logprobs-old.sse", requestOf({ topLogprobs: 1 }))).toMatchObject({
      ids: [200005, 17196, 200002],
    });
  });

  test("log probabilities stay aligned with their ids if the stop token is only named", async () => {
    const sent = (choice: object) => `data: ${JSON.stringify({ choices: [choice] })}\n\n`;
    const { engine } = engineOf(
      streamOf(
        sent({
          text: "Hi",
          token_ids: [12194],
          logprobs: { tokens: ["token_id:12194"], token_logprobs: [-0.5], top_logprobs: [{}] },
          finish_reason: null,
        }) + sent({ text: "", token_ids: [], finish_reason: "stop", stop_reason: 200002 }),
      ),
    );
    expect(await complete(engine, requestOf({ topLogprobs: 0 }))).toMatchObject({
      ids: [12194, 200002],
      logprobs: [{ id: 12194, logprob: -0.5 }, { id: 200002 }],
    });
  });

  test("an ordinary event is not parsed as JSON, only the finish and the usage are", async () => {
    const parse = vi.spyOn(JSON, "parse");
    await replay("answer.sse");
    expect(parse).toHaveBeenCalledTimes(2);
    parse.mockRestore();
  });

  test("several events of one read become one event", async () => {
    const { engine } = engineOf({ pieces: [readFixture("vllm/answer.sse")] });
    const types: string[] = [];
    for await (const event of engine.complete(requestOf(), new AbortController().signal)) {
      types.push(event.type);
    }
    expect(types).toEqual(["open", "ids", "finish"]);
  });
});

describe("failures in the stream", () => {
  test.each([
    [
      "an error as the first event",
      "error-first.sse",
      {
        opens: 1,
        error: { kind: "server-error", message: `${NAME} failed (500).` },
      },
    ],
    [
      "an error after tokens, which still go out",
      "error-later.sse",
      {
        opens: 1,
        ids: [200005, 35644],
        error: { kind: "server-error", message: `${NAME} failed (500).` },
      },
    ],
    [
      "an aborted completion",
      "abort.sse",
      {
        opens: 1,
        ids: [200005],
        error: {
          kind: "server-error",
          message: `${NAME} failed: the completion ended with "abort".`,
        },
      },
    ],
    [
      "an end without a finish",
      "no-finish.sse",
      {
        opens: 1,
        ids: [200005, 35644],
        error: { kind: "closed", message: `${NAME} ended its answer without a finish reason.` },
      },
    ],
  ])("%s", async (_, fixture, expected) => {
    expect(await replay(fixture)).toEqual(expected);
  });

  test.each([
    [
      "data: {oops}\n\n",
      `${NAME} sent an invalid response: an event of 6 characters that is not JSON.`,
    ],
    ["data: [1]\n\n", `${NAME} sent an invalid response: unexpected event of 3 characters.`],
    [
      'data: {"choices":[{"token_ids":["a"]}]}\n\n',
      `${NAME} sent an invalid response: unexpected event of 33 characters.`,
    ],
    [
      'data: {"choices":[{"finish_reason":null,"token_ids":[1,-2]}]}\n\n',
      `${NAME} sent an invalid response: unexpected event of 55 characters.`,
    ],
  ])("garbage is a server error: %j", async (stream, message) => {
    const result = await complete(engineOf(streamOf(stream)).engine);
    expect(result).toEqual({ opens: 1, error: { kind: "server-error", message } });
  });

  test("garbage after the last needed tokens, in the same read, is not a failure", async () => {
    const tokens = 'data: {"choices":[{"finish_reason":null,"token_ids":[1]}]}\n\n';
    const { engine } = engineOf(streamOf(`${tokens}data: {oops}\n\n`));
    const taken: string[] = [];
    await consume(engine.complete(requestOf(), new AbortController().signal), ({ type }) => {
      taken.push(type);
      return type !== "ids";
    });
    expect(taken).toEqual(["open", "ids"]);
  });

  test("an endless event is cut off, not kept in memory", async () => {
    const piece = new TextEncoder().encode("data: " + "x".repeat(6 * 1024 * 1024));
    const { engine } = engineOf({ pieces: [piece, piece, piece] });
    expect((await complete(engine)).error).toEqual({
      kind: "server-error",
      message: `${NAME} sent an invalid response: an event longer than 16777216 characters.`,
    });
  });

  test("a connection that breaks after the finish has no effect", async () => {
    const broken = new EngineError("closed", "broken");
    const whole = new TextDecoder().decode(readFixture("vllm/length.sse"));
    const { engine } = engineOf({
      pieces: [new TextEncoder().encode(whole.replace("data: [DONE]\n\n", "")), broken],
    });
    expect(await complete(engine)).toEqual(await replay("length.sse"));
  });

  test("an endless error page is not read to its end", async () => {
    const piece = new Uint8Array(600_000).fill(120);
    const { engine, transport } = engineOf({
      status: 502,
      headers: { "content-type": "text/plain" },
      pieces: [piece, piece, new Error("read too far")],
    });
    const { error } = await complete(engine);
    expect(error?.kind).toBe("server-error");
    expect(error?.message.length).toBeLessThan(700);
    expect(transport.closes).toEqual(["at once"]);
  });
});

describe("refusals", () => {
  const refuse = async (answer: Answer) => {
    const { engine, transport } = engineOf(answer);
    const { error } = await complete(engine);
    expect(transport.closes).toEqual(["at once"]);
    return error;
  };
  const error = (message: string, type: string, code: number, param: string | null = null) => ({
    error: { message, type, param, code },
  });

  test.each([
    [
      401,
      { error: "Unauthorized" },
      "auth",
      `${NAME} rejected the API key (401). Set it: HARMONY_GATEWAY_ENGINE_KEY, or --engine-key.`,
    ],
    [
      404,
      error("The model `x` does not exist.", "NotFoundError", 404),
      "not-found",
      `${NAME} does not know the path or the model (404). Check the engine's URL and its model name.`,
    ],
    [
      400,
      error("This model's limit is 8 tokens.", "BadRequestError", 400, "input_tokens"),
      "context-length",
      `${NAME} refused the request as too long (400).`,
    ],
    [
      400,
      error("maximum context length is 131072 tokens", "BadRequestError", 400),
      "context-length",
      `${NAME} refused the request as too long (400).`,
    ],
    [
      400,
      error("temperature must be non-negative", "BadRequestError", 400),
      "bad-request",
      `${NAME} refused the request (400).`,
    ],
    [
      422,
      { detail: [{ loc: ["body", "prompt"], msg: "field required" }] },
      "bad-request",
      `${NAME} refused the request (422).`,
    ],
    [500, error("boom", "InternalServerError", 500), "server-error", `${NAME} failed (500).`],
    [
      503,
      { error: { message: "Loading model", type: "unavailable_error", code: 503 } },
      "overloaded",
      `${NAME} cannot accept the request now (503).`,
    ],
    [
      502,
      "<html><head><title>502 Bad Gateway</title></head><body><h1>nginx</h1></body></html>",
      "server-error",
      `${NAME} failed (502).`,
    ],
    [504, "upstream timed out", "timeout", `${NAME} gave up waiting (504).`],
    [500, "", "server-error", `${NAME} failed (500).`],
    [
      200,
      { error: { message: "not today", code: 503 } },
      "overloaded",
      `${NAME} cannot accept the request now (503).`,
    ],
    [
      200,
      { choices: [] },
      "server-error",
      `${NAME} answered with application/json instead of a stream. Is this the URL of an inference server?`,
    ],
  ])("HTTP %i %j", async (status, body, kind, message) => {
    expect(await refuse(jsonAnswer(body, status))).toEqual({ kind, message });
  });

  test("a redirect is reported with its target", async () => {
    expect(
      await refuse({
        status: 308,
        headers: { location: "https://u:p@engine/v1/?k=1" },
        pieces: [],
      }),
    ).toEqual({
      kind: "not-found",
      message: `${NAME} does not know the path or the model (308): redirected to https://engine/v1/. Check the engine's URL and its model name.`,
    });
  });

  test.each([
    [{ "retry-after": "30" }, 30],
    [{ "retry-after": "Sat, 21 Nov 2026 10:00:30 GMT", date: "Sat, 21 Nov 2026 10:00:00 GMT" }, 30],
    [{ "retry-after": "Sat, 21 Nov 2026 09:00:00 GMT", date: "Sat, 21 Nov 2026 10:00:00 GMT" }, 0],
    [{ "retry-after": "Sat, 21 Nov 2026 10:00:30 GMT" }, undefined],
    [{ "retry-after": "soon" }, undefined],
    [{ "retry-after": "99999999999999999999" }, 3600],
    [{ "retry-after": "1e20" }, undefined],
    [{ "retry-after": "-5", date: "Sat, 21 Nov 2026 10:00:00 GMT" }, undefined],
    [
      { "retry-after": "Sat, 21 Nov 9999 10:00:00 GMT", date: "Sat, 21 Nov 2026 10:00:00 GMT" },
      3600,
    ],
    [{}, undefined],
  ])("says when to come back: %j", async (headers, retryAfter) => {
    const { engine } = engineOf({ status: 429, headers, pieces: [] });
    await expect(
      engine.complete(requestOf(), new AbortController().signal)[Symbol.asyncIterator]().next(),
    ).rejects.toMatchObject({ kind: "rate-limit", status: 429, retryAfter });
  });

  test("keeps the server's own words apart from our URL", async () => {
    const { engine } = engineOf(jsonAnswer({ error: "model is too long" }, 400));
    await expect(
      engine.complete(requestOf(), new AbortController().signal)[Symbol.asyncIterator]().next(),
    ).rejects.toMatchObject({ serverMessage: "model is too long" });
  });
});

describe("the URL", () => {
  test.each([
    ["http://engine:8000/", "http://engine:8000/v1/completions", undefined],
    ["http://engine:8000/prefix/", "http://engine:8000/prefix/v1/completions", undefined],
    ["http://engine:8000/v1", "http://engine:8000/v1/completions", undefined],
    [
      "http://us%40er:pw@engine:8000",
      "http://engine:8000/v1/completions",
      `Basic ${btoa("us@er:pw")}`,
    ],
  ])("%s", async (url, expected, authorization) => {
    const { engine, transport } = engineOf({ pieces: [readFixture("vllm/answer.sse")] }, { url });
    await complete(engine);
    expect(transport.requests[0]?.url).toBe(expected);
    expect(transport.requests[0]?.headers["authorization"]).toBe(authorization);
  });

  test("never appears with its credentials", async () => {
    const { engine } = engineOf(jsonAnswer({}, 401), { url: "http://user:secret@engine:8000" });
    expect((await complete(engine)).error?.message).toBe(
      `${NAME} rejected the API key (401). Set it: HARMONY_GATEWAY_ENGINE_KEY, or --engine-key.`,
    );
  });

  test("that is not a URL is refused with an explanation", () => {
    expect(() => engineOf(streamOf(), { url: "engine:8000" })).toThrow(
      '"engine:8000" is not an http URL. Write it as http://host:port.',
    );
  });
});

describe("probe", () => {
  const models = readFixture("vllm/models.json");
  const probeWith = (
    answers: Readonly<Record<string, Answer | ((body: string) => Answer)>>,
    options: Partial<VllmOptions> = {},
  ) => {
    const transport = scriptTransport(({ url, body }) => {
      const answer = answers[new URL(url).pathname] ?? jsonAnswer({ detail: "Not Found" }, 404);
      return typeof answer === "function" ? answer(requestText(body)) : answer;
    });
    const engine = createEngine("vllm", {
      url: "http://engine:8000",
      model: "openai/gpt-oss-20b",
      transport,
      ...options,
    });
    return { engine, transport, probe: () => engine.probe(new AbortController().signal) };
  };
  /** The prompt of a probe. */
  const PROBE_IDS = "[200006,1428,200008]";
  const event = (choice: object) => `data: ${JSON.stringify({ choices: [choice] })}\n\n`;
  const known = { "/v1/models": { ...jsonAnswer({}), pieces: [models] } };

  test("reads the context length, the version and the form of the tokens", async () => {
    const { engine, probe, transport } = probeWith({
      ...known,
      "/version": jsonAnswer({ version: "0.14.1" }),
      "/v1/completions": streamOf(
        event({ text: "<|return|>", token_ids: [200002], finish_reason: "stop" }),
      ),
    });
    expect(await probe()).toEqual({
      description: "vllm 0.14.1",
      models: ["openai/gpt-oss-20b", "my-lora"],
      contextLength: 131072,
      capabilities: VLLM_CAPABILITIES,
    });
    expect(engine.capabilities).toEqual(VLLM_CAPABILITIES);
    expect(bodyOf(transport.requests.find(({ url }) => url.endsWith("completions")))).toMatchObject(
      {
        max_tokens: 1,
        logit_bias: { "200002": 100 },
      },
    );
  });

  test("gives up a query that is not answered completely in time, whatever trickles in", async () => {
    const clock = createFakeClock();
    const asked = Promise.withResolvers<void>();
    const transport: Transport = async () => ({
      status: 200,
      headers: { get: () => "application/json" },
      pump: async (consumer) => {
        await consumer(new TextEncoder().encode('{"data":['));
        asked.resolve();
        await new Promise(() => {});
      },
      close: () => undefined,
    });
    const engine = createEngine("vllm", { url: "http://a:8000", model: "m", transport, clock });
    const probing = engine.probe(new AbortController().signal);
    await asked.promise;
    clock.advance(15_000);
    await expect(probing).rejects.toThrow("vllm at http://a:8000 did not answer within 15000 ms.");
  });

  test("detects that an old server sends only text", async () => {
    const { engine, probe } = probeWith({
      ...known,
      "/v1/completions": streamOf(event({ text: "<|return|>", finish_reason: "stop" })),
    });
    expect(await probe()).toEqual({
      description: "vllm",
      models: ["openai/gpt-oss-20b", "my-lora"],
      contextLength: 131072,
      capabilities: { ...VLLM_CAPABILITIES, idsOut: "none", showsMarkers: true },
    });
    expect(engine.capabilities.idsOut).toBe("none");
  });

  test("detects that the stop token is hidden", async () => {
    const { probe } = probeWith({
      ...known,
      "/v1/completions": streamOf(event({ text: "", token_ids: [], finish_reason: "stop" })),
    });
    expect((await probe()).capabilities).toEqual({ ...VLLM_CAPABILITIES, stopIdVisible: false });
  });

  test("uses the token endpoint if it is configured and exists", async () => {
    const { engine, probe, transport } = probeWith(
      {
        ...known,
        // The existence of the path is tested with a request that the server must reject.
        "/inference/v1/generate": (body) => {
          if (body.includes('"token_ids":[]')) {
            return jsonAnswer({ error: { message: "empty prompt" } }, 400);
          }
          return body.includes(PROBE_IDS)
            ? streamOf(event({ token_ids: [200002], finish_reason: "stop" }), "data: [DONE]\n\n")
            : { pieces: [readFixture("vllm/generate.sse")] };
        },
      },
      { tokenEndpoint: true },
    );
    await probe();
    const result = await complete(
      engine,
      requestOf({ constraint: { type: "json-object" }, cacheSalt: "t" }),
    );
    expect(result).toEqual({
      opens: 1,
      ids: [200005, 35644, 200008, 1844, 5003, 5911, 13, 200007, 200012],
      finish: {
        type: "finish",
        reason: "stop",
        nativeReason: "stop",
        usage: { promptTokens: 5, completionTokens: 9 },
      },
    });
    expect(bodyOf(transport.requests.at(-1))).toEqual({
      model: "openai/gpt-oss-20b",
      token_ids: [200006, 1428, 200008, 12194, 200007],
      sampling_params: {
        max_tokens: 4096,
        temperature: 1,
        top_p: 1,
        top_k: -1,
        min_p: 0,
        frequency_penalty: 0,
        presence_penalty: 0,
        repetition_penalty: 1,
        stop_token_ids: [199999, 200002, 200012],
        structured_outputs: { json_object: true },
      },
      stream: true,
      stream_options: { include_usage: true },
      cache_salt: "t",
      request_id: "px-1-hg2",
    });
  });

  test("uses completions if there is no token endpoint", async () => {
    const { engine, probe, transport } = probeWith(
      {
        ...known,
        "/v1/completions": streamOf(
          event({ token_ids: [200002], finish_reason: "stop" }),
          "data: [DONE]\n\n",
        ),
      },
      { tokenEndpoint: true },
    );
    await probe();
    await complete(engine);
    expect(transport.requests.at(-1)?.url).toBe("http://engine:8000/v1/completions");
  });

  test("a model the server does not have is named, with those it has", async () => {
    await expect(probeWith(known, { model: "gpt-oss-120b" }).probe()).rejects.toMatchObject({
      kind: "not-found",
      message: `${NAME} offers "openai/gpt-oss-20b", "my-lora", not "gpt-oss-120b". Set the model to a name that the server offers.`,
    });
  });

  test("a server of another kind is detected", async () => {
    await expect(probeWith({}).probe()).rejects.toMatchObject({
      kind: "not-found",
      message: `${NAME} has no list of models at /v1/models. Is this the URL of a vLLM server?`,
    });
  });

  test("a refused key is reported", async () => {
    const { probe } = probeWith({ "/v1/models": jsonAnswer({ error: "Unauthorized" }, 401) });
    await expect(probe()).rejects.toMatchObject({
      kind: "auth",
      message: `${NAME} rejected the API key (401). Set it: HARMONY_GATEWAY_ENGINE_KEY, or --engine-key.`,
    });
  });
});
