/** The engines that share vLLM's reader of `/v1/completions`: their differences. */
import { describe, expect, test } from "vitest";

import {
  COMPLETIONS_CAPABILITIES,
  createCompletionsEngine,
} from "../../src/engines/completions.ts";
import type { CompletionRequest, Engine } from "../../src/index.ts";
import { createFireworksEngine, FIREWORKS_CAPABILITIES } from "../../src/engines/fireworks.ts";
import type { ServerOptions } from "../../src/engines/server.ts";
import { createTrtllmEngine, TRTLLM_CAPABILITIES } from "../../src/engines/trtllm.ts";
import {
  type Answer,
  bodyOf,
  complete,
  jsonAnswer,
  readFixture,
  requestOf,
  scriptTransport,
  streamOf,
} from "./support.ts";
import { requestText } from "../helpers/request-text.ts";

type Script = Readonly<Record<string, Answer | ((body: string) => Answer)>>;

/** An engine whose server answers by path, with 404 for unknown ones. */
function serve(create: (options: ServerOptions) => Engine, script: Script, url: string) {
  const transport = scriptTransport((request) => {
    const answer = script[new URL(request.url).pathname] ?? jsonAnswer({ error: "no" }, 404);
    return typeof answer === "function" ? answer(requestText(request.body)) : answer;
  });
  const engine = create({ url, model: "openai/gpt-oss-20b", transport });
  return {
    engine,
    transport,
    probe: () => engine.probe(new AbortController().signal),
    sent: async (request: CompletionRequest) => {
      await complete(engine, request);
      return transport.requests.at(-1);
    },
  };
}

function file(name: string): Answer {
  return { pieces: [readFixture(name)] };
}

function json(name: string): Answer {
  return { ...jsonAnswer({}), pieces: [readFixture(name)] };
}

function event(choice: object): string {
  return `data: ${JSON.stringify({ choices: [choice] })}\n\n`;
}

const EVERYTHING = requestOf({
  sampling: { ...requestOf().sampling, topK: 40, seed: 7, logitBias: new Map([[200007, -100]]) },
  cacheSalt: "tenant-7f",
  affinity: "conversation-1",
});
const ANSWER_IDS = [
  200005, 35644, 200008, 1844, 5003, 5911, 13, 200007, 200006, 173781, 200005, 17196, 200008, 13225,
  61138, 102, 2524, 112927, 222, 0, 200002,
];

describe("trtllm", () => {
  const SERVER = "http://engine:8000";
  const serveTrtllm = (answer: Answer) =>
    serve(createTrtllmEngine, { "/v1/completions": answer }, SERVER);

  test("sends only fields the server knows, because it refuses others", async () => {
    const { sent } = serveTrtllm(file("trtllm/answer.sse"));
    expect(bodyOf(await sent(EVERYTHING))).toEqual({
      model: "openai/gpt-oss-20b",
      prompt: [200006, 1428, 200008, 12194, 200007],
      stream: true,
      stream_options: { include_usage: true, continuous_usage_stats: false },
      max_tokens: 4096,
      temperature: 1,
      top_p: 1,
      top_k: 40,
      min_p: 0,
      frequency_penalty: 0,
      presence_penalty: 0,
      repetition_penalty: 1,
      seed: 7,
      logit_bias: { "200007": -100 },
      stop_token_ids: [199999, 200002, 200012],
      include_stop_str_in_output: true,
      add_special_tokens: false,
      skip_special_tokens: false,
      spaces_between_special_tokens: false,
      detokenize: false,
    });
  });

  const schema = '{"properties":{"b":{"maximum":1.0}}}';
  test.each([
    [{ type: "json-schema", schema }, `"response_format":{"type":"json","schema":${schema}}`],
    [{ type: "json-object" }, '"response_format":{"type":"json_object"}'],
    [
      { type: "choice", options: ["a", "b"] },
      '"response_format":{"type":"ebnf","ebnf":"root ::= \\"a\\" | \\"b\\""}',
    ],
  ] as const)("constrains from the first token on: %j", async (constraint, expected) => {
    const { sent } = serveTrtllm(file("trtllm/answer.sse"));
    expect(requestText((await sent(requestOf({ constraint })))?.body)).toContain(expected);
  });

  test("gives every id, cut anywhere", async () => {
    const expected = {
      opens: 1,
      ids: ANSWER_IDS,
      finish: {
        type: "finish",
        reason: "stop",
        nativeReason: "stop",
        usage: { promptTokens: 5, cachedTokens: 4, completionTokens: 21 },
      },
    };
    expect(await complete(serveTrtllm(file("trtllm/answer.sse")).engine)).toEqual(expected);
  });

  test("returns the stop id when the server only names it", async () => {
    const { engine } = serveTrtllm(file("trtllm/stop-only-named.sse"));
    expect((await complete(engine)).ids).toEqual([200005, 12606, 815, 200008, 200012]);
  });

  test("a stream without a finish fails as closed", async () => {
    const { engine } = serveTrtllm(file("trtllm/broken.sse"));
    expect(await complete(engine)).toMatchObject({
      ids: ANSWER_IDS.slice(0, 8),
      error: { kind: "closed" },
    });
  });

  test("reads its flat error", async () => {
    const body = {
      object: "error",
      message: "Extra inputs are not permitted",
      type: "x",
      code: 400,
    };
    const { engine } = serveTrtllm(jsonAnswer(body, 400));
    expect((await complete(engine)).error).toEqual({
      kind: "bad-request",
      message: `trtllm at ${SERVER} refused the request (400).`,
    });
  });

  test("probes without a bias if the server does not support one", async () => {
    const { probe, transport } = serve(
      createTrtllmEngine,
      {
        "/v1/models": json("trtllm/models.json"),
        "/version": jsonAnswer({ version: "1.4.0" }),
        "/v1/completions": (body) =>
          body.includes("logit_bias")
            ? jsonAnswer(
                { object: "error", message: "logit_bias requires a tokenizer", code: 400 },
                400,
              )
            : streamOf(event({ token_ids: [200005], finish_reason: "length" })),
      },
      SERVER,
    );
    expect(await probe()).toEqual({
      description: "trtllm 1.4.0",
      models: ["openai/gpt-oss-20b"],
      capabilities: TRTLLM_CAPABILITIES,
    });
    expect(transport.requests.filter(({ url }) => url.endsWith("/completions"))).toHaveLength(2);
  });

  test("a server of another kind is detected", async () => {
    await expect(serve(createTrtllmEngine, {}, SERVER).probe()).rejects.toMatchObject({
      message: `trtllm at ${SERVER} has no list of models at /v1/models. Is this the URL of a trtllm-serve?`,
    });
  });
});

describe("fireworks", () => {
  const SERVER = "https://api.fireworks.ai/inference";
  const PATH = "/inference/v1/completions";
  const serveFireworks = (answer: Answer) =>
    serve(createFireworksEngine, { [PATH]: answer }, SERVER);

  test("separates the caches of tenants and keeps a conversation on one replica", async () => {
    const { sent } = serveFireworks(file("fireworks/answer.sse"));
    const request = await sent(EVERYTHING);
    expect(request?.url).toBe("https://api.fireworks.ai/inference/v1/completions");
    expect(bodyOf(request)).toEqual({
      model: "openai/gpt-oss-20b",
      prompt: [200006, 1428, 200008, 12194, 200007],
      stream: true,
      max_tokens: 4096,
      temperature: 1,
      top_p: 1,
      top_k: 40,
      min_p: 0,
      frequency_penalty: 0,
      presence_penalty: 0,
      repetition_penalty: 1,
      seed: 7,
      logit_bias: { "200007": -100 },
      return_token_ids: true,
      context_length_exceeded_behavior: "error",
      prompt_cache_key: "conversation-1",
      prompt_cache_isolation_key: "tenant-7f",
    });
  });

  const schema = '{"properties":{"b":{"maximum":1.0}}}';
  test.each([
    [{ type: "json-schema", schema }, `"json_schema":{"name":"answer","schema":${schema}}`],
    [{ type: "json-object" }, '"response_format":{"type":"json_object"}'],
    [
      { type: "choice", options: ["a", "b"] },
      '"response_format":{"type":"grammar","grammar":"root ::= \\"a\\" | \\"b\\""}',
    ],
  ] as const)("constrains from the first token on: %j", async (constraint, expected) => {
    const { sent } = serveFireworks(file("fireworks/answer.sse"));
    expect(requestText((await sent(requestOf({ constraint })))?.body)).toContain(expected);
  });

  test("gives every id, with the usage that comes along with the finish, cut anywhere", async () => {
    const expected = {
      opens: 1,
      ids: [200005, 17196, 200008, 12194, 200002],
      finish: {
        type: "finish",
        reason: "stop",
        nativeReason: "stop",
        usage: { promptTokens: 12, cachedTokens: 0, completionTokens: 5 },
      },
    };
    expect(await complete(serveFireworks(file("fireworks/answer.sse")).engine)).toEqual(expected);
  });

  test('a finish of "error" is one', async () => {
    const { engine } = serveFireworks(file("fireworks/error.sse"));
    expect(await complete(engine)).toEqual({
      opens: 1,
      ids: [200005],
      error: {
        kind: "server-error",
        message: `fireworks at ${SERVER} failed: the completion ended with "error".`,
      },
    });
  });

  test("probes the form of the tokens, whatever its list of models says", async () => {
    const { probe } = serve(
      createFireworksEngine,
      { [PATH]: streamOf(event({ text: "", token_ids: [], finish_reason: "stop" })) },
      SERVER,
    );
    expect(await probe()).toEqual({
      description: "fireworks",
      capabilities: { ...FIREWORKS_CAPABILITIES, stopIdVisible: false },
    });
  });
});

describe("completions", () => {
  const serveText = (answer: Answer, url = "http://engine:1234") =>
    serve(
      createCompletionsEngine,
      { "/v1/completions": answer, "/v1/openai/completions": answer },
      url,
    );
  const text =
    "<|channel|>analysis<|message|>User says hi.<|end|><|start|>assistant<|channel|>final<|message|>Hello 👩\u200d🚀!";

  test("sends the prompt as text, and only fields that every such server knows", async () => {
    const { sent } = serveText(file("completions/answer.sse"));
    expect(bodyOf(await sent(EVERYTHING))).toEqual({
      model: "openai/gpt-oss-20b",
      prompt: "<|start|>user<|message|>Hi<|end|>",
      stream: true,
      stream_options: { include_usage: true },
      max_tokens: 4096,
      temperature: 1,
      top_p: 1,
      frequency_penalty: 0,
      presence_penalty: 0,
      seed: 7,
      logit_bias: { "200007": -100 },
      skip_special_tokens: false,
    });
  });

  test.each([
    ["http://engine:1234", "http://engine:1234/v1/completions"],
    ["http://engine:1234/v1/", "http://engine:1234/v1/completions"],
    ["http://engine:1234/v1/openai", "http://engine:1234/v1/openai/completions"],
  ])("takes the URL as an OpenAI client does: %s", async (url, expected) => {
    const { sent } = serveText(file("completions/answer.sse"), url);
    expect((await sent(requestOf()))?.url).toBe(expected);
  });

  test("returns the text despite keep-alive comments, split anywhere", async () => {
    const expected = {
      opens: 1,
      text,
      finish: {
        type: "finish",
        reason: "stop",
        nativeReason: "stop",
        usage: { promptTokens: 70, completionTokens: 21 },
      },
    };
    expect(await complete(serveText(file("completions/answer.sse")).engine)).toEqual(expected);
  });

  test("keeps the server's native finish reason", async () => {
    expect(await complete(serveText(file("completions/eos.sse")).engine)).toEqual({
      opens: 1,
      text: "<|channel|>final<|message|>Hi",
      finish: {
        type: "finish",
        reason: "stop",
        nativeReason: "eos",
        usage: { promptTokens: 70, completionTokens: 5 },
      },
    });
  });

  test("an end without a finish fails as closed", async () => {
    expect(await complete(serveText(file("completions/no-finish.sse")).engine)).toMatchObject({
      text: "<|channel|>final",
      error: { kind: "closed" },
    });
  });

  test("probes whether the stop token is shown", async () => {
    const { probe } = serve(
      createCompletionsEngine,
      {
        "/v1/completions": streamOf(event({ text: "<|return|>", finish_reason: "stop" })),
        "/v1/models": jsonAnswer({ data: [{ id: "gpt-oss", context_length: 131072 }] }),
      },
      "http://engine:1234",
    );
    expect(await probe()).toEqual({
      description: "completions",
      models: ["gpt-oss"],
      contextLength: 131072,
      capabilities: { ...COMPLETIONS_CAPABILITIES, stopIdVisible: true, showsMarkers: true },
    });
  });

  test.each([
    ["shows no control token, only a header's words", "analysis", "unmarked"],
    ["shows a header's control token", "<|channel|>analysis<|message|>", "none"],
    ["says something else, which proves nothing", "Hello", "none"],
  ])("the probe of a server that %s", async (_, header, idsOut) => {
    const { probe, engine } = serve(
      createCompletionsEngine,
      {
        "/v1/completions": (body) =>
          streamOf(
            event({
              text: body.includes('"max_tokens":1,') ? "" : header,
              finish_reason: "length",
            }),
          ),
      },
      "http://engine:1234",
    );
    await probe();
    expect(engine.capabilities.idsOut).toBe(idsOut);
  });
});
