import { hash } from "node:crypto";
import { BadRequestResponseErrorData$inboundSchema } from "@openrouter/sdk/models/badrequestresponseerrordata.js";
import { ChatStreamChunk$inboundSchema } from "@openrouter/sdk/models/chatstreamchunk.js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { EngineError, type EngineErrorKind } from "../../src/index.ts";
import { startTestGateway, type TestGateway } from "../helpers/gateway.ts";
import { type Script, scriptedEngine } from "../helpers/scripted-engine.ts";
import { parseEvents } from "../helpers/replies.ts";

const ANALYSIS = "<|channel|>analysis<|message|>Let me think.<|end|><|start|>assistant";
const WRONG_ANSWER = "<|channel|>final<|message|>nope<|return|>";

let next: Script = "";
let gateway: TestGateway;

beforeAll(async () => {
  const keys = [`alice:${hash("sha256", "hg-1")}`];
  const models = [{ id: "tiny", engine: scriptedEngine(() => next), contextLength: 2000 }];
  gateway = await startTestGateway({ models, settings: { keys } });
});
afterAll(() => gateway.close());

const HELLO = { messages: [{ role: "user", content: "hi" }] };
const JSON_ONLY = {
  response_format: { type: "json_schema", json_schema: { name: "o", schema: { type: "object" } } },
};

const body = z.object({ error: z.looseObject({ code: z.unknown() }) });

function post(path: string, request: object, key = "hg-1"): Promise<Response> {
  return fetch(gateway.origin + path, {
    method: "POST",
    headers: { authorization: `Bearer ${key}` },
    body: JSON.stringify(request),
  });
}

const fails = (kind: EngineErrorKind): Script => ({
  write: "",
  fail: new EngineError(kind, "gone"),
});

describe("the code of an error, below /v1 and below /api/v1", () => {
  test.each<[string, string, object, Script, string | null, number]>([
    ["a wrong field", "/chat/completions", { messages: 1 }, "", "invalid_request", 400],
    ["an unknown model", "/chat/completions", { ...HELLO, model: "x" }, "", "model_not_found", 400],
    ["an unknown path", "/nothing", {}, "", "unknown_url", 404],
    ["a method", "/models", {}, "", "invalid_request", 405],
    [
      "a long prompt",
      "/chat/completions",
      { messages: [{ role: "user", content: "word ".repeat(3000) }] },
      "",
      "context_length_exceeded",
      400,
    ],
    ["a limit", "/chat/completions", HELLO, fails("rate-limit"), "rate_limit_exceeded", 429],
    ["an engine", "/chat/completions", HELLO, fails("closed"), "provider_unavailable", 502],
    ["a wrong field", "/responses", { input: 1 }, "", null, 400],
    [
      "an unknown response",
      "/responses",
      { model: "tiny", input: "hi", previous_response_id: "resp_1" },
      "",
      "previous_response_not_found",
      400,
    ],
    [
      "an engine",
      "/responses",
      { model: "tiny", input: "hi" },
      fails("closed"),
      "server_error",
      502,
    ],
  ])("%s at %s", async (_, path, request, script, text, number) => {
    next = script;
    const atOpenAI = body.parse(await (await post(`/v1${path}`, request)).json());
    expect(atOpenAI.error.code).toBe(text);

    const atOpenRouter = body.parse(await (await post(`/api/v1${path}`, request)).json());
    expect(atOpenRouter.error.code).toBe(number);
    expect(BadRequestResponseErrorData$inboundSchema.parse(atOpenRouter.error)).toMatchObject({
      metadata: { error_type: expect.any(String) },
    });
  });

  test("of a key", async () => {
    const at = async (path: string) => body.parse(await (await post(path, HELLO, "hg-2")).json());
    expect((await at("/v1/chat/completions")).error.code).toBe("invalid_api_key");
    expect((await at("/api/v1/chat/completions")).error.code).toBe(401);
    expect((await at("/v1/responses")).error.code).toBe("invalid_api_key");
  });
});

describe("the code of an error in a reply that has begun", () => {
  async function lastEvents(path: string, request: object, count: number) {
    const text = await (await post(path, request)).text();
    return parseEvents(text, z.looseObject({})).slice(-count);
  }

  test("a failing stream", async () => {
    next = { write: ANALYSIS, fail: new EngineError("closed", "gone") };
    const request = { ...HELLO, stream: true };
    const code = "provider_unavailable";
    expect(await lastEvents("/v1/chat/completions", request, 2)).toMatchObject([
      { object: "chat.completion.chunk", error: { code } },
      { error: { code } },
    ]);
    const events = await lastEvents("/api/v1/chat/completions", request, 100);
    expect(events.at(-1)).toMatchObject({ object: "chat.completion.chunk", error: { code: 502 } });
    for (const event of events) {
      expect(ChatStreamChunk$inboundSchema.safeParse(event).error).toBeUndefined();
    }
  });

  test("an answer that does not satisfy its format", async () => {
    next = WRONG_ANSWER;
    for (const [prefix, code] of [
      ["/v1", "invalid_answer"],
      ["/api/v1", 502],
    ] as const) {
      const request = { ...HELLO, ...JSON_ONLY };
      const plain = await (await post(`${prefix}/chat/completions`, request)).json();
      expect(plain).toMatchObject({ choices: [{ error: { code }, finish_reason: "error" }] });
      const streamed = { ...request, stream: true };
      expect(await lastEvents(`${prefix}/chat/completions`, streamed, 2)).toMatchObject([
        { error: { code }, choices: [{ finish_reason: "error" }] },
        { usage: {} },
      ]);
    }
  });
});
