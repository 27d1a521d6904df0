import { describe, expect, test, vi } from "vitest";

import { type CompletionRequest, createEngine } from "../../src/index.ts";
import { SGLANG_CAPABILITIES } from "../../src/engines/sglang.ts";
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

const NAME = "sglang at http://engine:30000";

function engineOf(answer: Answer | Error) {
  const transport = scriptTransport(() => answer);
  const engine = createEngine("sglang", {
    url: "http://engine:30000",
    model: "openai/gpt-oss-20b",
    transport,
  });
  return { engine, transport };
}

function replay(fixture: string, request?: CompletionRequest) {
  return complete(engineOf({ pieces: [readFixture(`sglang/${fixture}`)] }).engine, request);
}

const ANSWER = {
  opens: 1,
  ids: [
    200005, 35644, 200008, 1844, 5003, 5911, 13, 200007, 200006, 173781, 200005, 17196, 200008,
    13225, 61138, 102, 2524, 112927, 222, 0, 200002,
  ],
  finish: {
    type: "finish",
    reason: "stop",
    nativeReason: "stop",
    usage: { promptTokens: 5, cachedTokens: 4, completionTokens: 21 },
  },
};

test("cached tokens come with the first tokens, so that a call that is cut has them", async () => {
  const { engine } = engineOf({ pieces: [readFixture("sglang/incremental.sse")] });
  for await (const event of engine.complete(requestOf(), new AbortController().signal)) {
    if (event.type !== "ids") continue;
    expect(event.cachedTokens).toBe(4);
    break;
  }
  expect.assertions(1);
});

describe("the request", () => {
  const sent = async (request: CompletionRequest) => {
    const { engine, transport } = engineOf({ pieces: [readFixture("sglang/cumulative.sse")] });
    await complete(engine, request);
    return transport.requests[0];
  };

  test("sends every parameter, including neutral values", async () => {
    const request = await sent(requestOf());
    expect([request?.method, request?.url]).toEqual(["POST", "http://engine:30000/generate"]);
    expect(bodyOf(request)).toEqual({
      input_ids: [200006, 1428, 200008, 12194, 200007],
      rid: "px-1-hg1",
      stream: true,
      sampling_params: {
        max_new_tokens: 4096,
        temperature: 1,
        top_p: 1,
        top_k: -1,
        min_p: 0,
        frequency_penalty: 0,
        presence_penalty: 0,
        repetition_penalty: 1,
        stop_token_ids: [199999, 200002, 200012],
        skip_special_tokens: false,
        spaces_between_special_tokens: false,
        no_stop_trim: true,
      },
    });
  });

  test("sends optional fields if they are given", async () => {
    const logitBias = new Map([[200007, -100]]);
    expect(
      bodyOf(
        await sent(
          requestOf({
            sampling: { ...requestOf().sampling, topK: 40, seed: 7, logitBias },
            cacheSalt: "tenant-7f",
            topLogprobs: 3,
          }),
        ),
      ),
    ).toMatchObject({
      extra_key: "tenant-7f",
      return_logprob: true,
      top_logprobs_num: 3,
      logprob_start_len: -1,
      sampling_params: { top_k: 40, sampling_seed: 7, logit_bias: { "200007": -100 } },
    });
  });

  const schema = '{"properties":{"b":{"maximum":1.0},"1":{}}}';
  test.each([
    [{ type: "json-schema", schema }, { json_schema: schema }],
    [{ type: "json-object" }, { json_schema: '{"type":"object"}' }],
    [{ type: "choice", options: ["a", "b"] }, { ebnf: 'root ::= "a" | "b"' }],
  ] as const)("constrains from the first token on: %j", async (constraint, expected) => {
    expect(bodyOf(await sent(requestOf({ constraint })))).toMatchObject({
      sampling_params: expected,
    });
  });
});

describe("the stream", () => {
  test.each(["cumulative.sse", "incremental.sse", "cumulative-uneven.sse"])(
    "gives every id once: %s",
    async (fixture) => {
      expect(await replay(fixture)).toEqual(ANSWER);
    },
  );

  test("falls back to text if a server sends no ids", async () => {
    expect(await replay("text-only.sse")).toEqual({
      opens: 1,
      text: "<|channel|>analysis<|message|>User says hi.<|end|><|start|>assistant<|channel|>final<|message|>Hello 👩\u200d🚀!<|return|>",
      finish: ANSWER.finish,
    });
  });

  const event = (output_ids: number[], completion_tokens?: number, matched?: number): string =>
    `data: ${JSON.stringify({
      output_ids,
      meta_info: {
        finish_reason: matched === undefined ? null : { type: "stop", matched },
        ...(completion_tokens !== undefined && { completion_tokens }),
      },
    })}\n\n`;

  test.each<[string, string[], number[]]>([
    [
      "new ids that happen to be the same as the first",
      [event([0], 1), event([0], 2), event([0, 200002], 4, 200002)],
      [0, 0, 0, 200002],
    ],
    [
      "new ids of a server that does not count",
      [event([5]), event([6]), event([200002], undefined, 200002)],
      [5, 6, 200002],
    ],
    [
      "ids that were repeated in another spelling",
      [event([1], 1), event([1, 22], 2), event([1, 2, 3], 3), event([1, 2, 3, 200002], 4, 200002)],
      [1, 22, 3, 200002],
    ],
    [
      "a stop id that is named after it was given",
      [event([1], 1), event([1, 2], 2), event([1, 2, 200002], 3), event([1, 2, 200002], 3, 200002)],
      [1, 2, 200002],
    ],
  ])("is not misled by %s", async (_, events, expected) => {
    expect((await complete(engineOf(streamOf(...events)).engine)).ids).toEqual(expected);
  });

  test("text that does not repeat itself is added up", async () => {
    const textEvent = (text: string, finish: object | null): string =>
      `data: ${JSON.stringify({ text, meta_info: { finish_reason: finish } })}\n\n`;
    const stream =
      textEvent("<|channel|>", null) + textEvent("final", null) + textEvent("f", { type: "stop" });
    expect(await complete(engineOf(streamOf(stream)).engine)).toEqual({
      opens: 1,
      text: "<|channel|>finalf",
      finish: { type: "finish", reason: "stop", nativeReason: "stop", usage: {} },
    });
  });

  test("repeated parts of events are not parsed as JSON, only the first two events and the last are", async () => {
    const parse = vi.spyOn(JSON, "parse");
    await replay("cumulative.sse");
    expect(parse).toHaveBeenCalledTimes(3);
    parse.mockRestore();
  });

  test("a reached limit finishes with length", async () => {
    expect(await replay("length.sse")).toMatchObject({
      ids: [200005, 35644, 200008, 1844, 5003],
      finish: { reason: "length", nativeReason: "length" },
    });
  });

  test("returns the stop id when the server only names it", async () => {
    expect((await replay("stop-only-named.sse")).ids).toEqual([
      200005, 35644, 200008, 1844, 5003, 5911, 13, 200007, 200012,
    ]);
  });

  test.each(["logprobs.sse", "logprobs-incremental.sse"])(
    "gives the log probability of each id once: %s",
    async (fixture) => {
      expect(await replay(fixture, requestOf({ topLogprobs: 2 }))).toMatchObject(
        ANSWER_WITH_LOGPROBS,
      );
    },
  );
});

describe("failures", () => {
  test("a refusal under status 200 comes before the stream is open", async () => {
    expect(await replay("error-first.sse")).toEqual({
      opens: 0,
      error: {
        kind: "context-length",
        message: `${NAME} refused the request as too long (400).`,
      },
    });
  });

  test("an abort of the scheduler is an error, after the tokens that came", async () => {
    expect(await replay("abort.sse")).toEqual({
      opens: 1,
      ids: [200005, 35644],
      error: {
        kind: "overloaded",
        message: `${NAME} cannot accept the request now (503).`,
      },
    });
  });

  test("an end without a finish", async () => {
    expect(await replay("no-finish.sse")).toMatchObject({
      ids: [200005, 35644],
      error: { kind: "closed" },
    });
  });

  test.each([
    [400, { error: { message: "top_p must be in (0, 1]" } }, "bad-request"],
    [
      400,
      { object: "error", message: "too much", type: "BadRequestError", code: 400 },
      "bad-request",
    ],
    [401, { error: "Unauthorized" }, "auth"],
    [503, "", "overloaded"],
  ])("HTTP %i %j", async (status, body, kind) => {
    expect((await complete(engineOf(jsonAnswer(body, status)).engine)).error?.kind).toBe(kind);
  });
});

describe("probe", () => {
  const probeWith = (answers: Readonly<Record<string, Answer>>) => {
    const transport = scriptTransport(
      ({ url }) => answers[new URL(url).pathname] ?? jsonAnswer({ detail: "Not Found" }, 404),
    );
    const engine = createEngine("sglang", { url: "http://engine:30000", model: "any", transport });
    return engine.probe(new AbortController().signal);
  };
  const models: Answer = { ...jsonAnswer({}), pieces: [readFixture("sglang/models.json")] };
  const one = (changes: object): Answer =>
    streamOf(
      `data: ${JSON.stringify({
        ...changes,
        meta_info: { finish_reason: { type: "stop" }, completion_tokens: 1 },
      })}\n\n`,
    );

  test("reads the context length, the version and the form of the tokens", async () => {
    expect(
      await probeWith({
        "/v1/models": models,
        "/get_server_info": jsonAnswer({ version: "0.5.9" }),
        "/generate": one({ text: "<|return|>", output_ids: [200002] }),
      }),
    ).toEqual({
      description: "sglang 0.5.9",
      models: ["openai/gpt-oss-20b"],
      contextLength: 131072,
      capabilities: SGLANG_CAPABILITIES,
    });
  });

  test("detects that a server sends only text, and works without a version", async () => {
    expect(
      await probeWith({
        "/v1/models": models,
        "/get_server_info": jsonAnswer({ error: "forbidden" }, 403),
        "/generate": one({ text: "<|return|>" }),
      }),
    ).toEqual({
      description: "sglang",
      models: ["openai/gpt-oss-20b"],
      contextLength: 131072,
      capabilities: { ...SGLANG_CAPABILITIES, idsOut: "none", showsMarkers: true },
    });
  });

  test("a server of another kind is detected", async () => {
    await expect(probeWith({})).rejects.toMatchObject({
      kind: "not-found",
      message: `${NAME} has no list of models at /v1/models. Is this the URL of an SGLang server?`,
    });
  });
});
