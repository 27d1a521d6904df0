import { hash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { EngineError, type EngineErrorKind } from "../../../src/index.ts";
import { ON_WORKERS } from "../../helpers/gateway.ts";
import { scriptedEngine } from "../../helpers/scripted-engine.ts";
import { consume } from "./consumer.ts";
import { errorBody } from "./schemas.ts";
import { MODEL, readEvents, responsesApp } from "./support.ts";

const ANALYSIS = "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant";
const ANSWER = "<|channel|>final<|message|>Hello there!<|return|>";
const REQUEST = { model: MODEL, input: "Hi." };

describe("the same answer, plain and streamed", () => {
  test.each([
    ["reasoning and an answer", ANALYSIS + ANSWER],
    [
      "reasoning, a preamble and a call",
      `${ANALYSIS}<|channel|>commentary<|message|>One moment.<|end|><|start|>assistant` +
        "<|channel|>commentary to=functions.f <|constrain|>json<|message|>{}<|call|>",
    ],
    [
      "a cut answer",
      { write: `${ANALYSIS}<|channel|>final<|message|>Hel`, finish: "length" as const },
    ],
    [
      "truncated reasoning",
      { write: "<|channel|>analysis<|message|>Hm", finish: "length" as const },
    ],
    ["nothing at all", { write: "<|return|>" }],
  ])("%s", async (_, script) => {
    const now = () => Date.parse("2026-01-31T12:00:00Z");
    const app = responsesApp({ engine: scriptedEngine([script, script, script, script]), now });
    const body = { input: "Hi.", tools: [{ type: "function", name: "f" }] };
    const plain = await app.create(body);
    const streamed = await app.stream(body);
    const anonymous = (response: typeof plain) =>
      JSON.parse(
        JSON.stringify(response)
          .replaceAll(response.id.slice("resp_".length), "0")
          .replaceAll(/"call_[^"]+"/g, '"call_0"'),
      );
    expect(anonymous(streamed)).toEqual(anonymous(plain));
  });
});

describe("an engine that fails before it begins is an HTTP status", () => {
  test.each<[EngineErrorKind, number, string, string | null]>([
    ["unreachable", 502, "server_error", "server_error"],
    ["timeout", 504, "server_error", "server_error"],
    ["overloaded", 503, "server_error", "server_error"],
    ["rate-limit", 429, "too_many_requests", "rate_limit_exceeded"],
    ["bad-request", 400, "invalid_request_error", null],
    ["context-length", 400, "invalid_request_error", "context_length_exceeded"],
    ["server-error", 502, "server_error", "server_error"],
  ])("%s: %i", async (kind, status, type, code) => {
    for (const stream of [false, true]) {
      const engine = {
        ...scriptedEngine([]),
        // oxlint-disable-next-line require-yield -- it fails before there is anything to yield
        async *complete() {
          throw new EngineError(kind, "why", { retryAfter: 2.5 });
        },
      };
      const app = responsesApp({ engine });
      const response = await app.send("POST", "/v1/responses", { ...REQUEST, stream });
      expect(response.status).toBe(status);
      expect(errorBody.parse(await response.json()).error).toMatchObject({ type, code });
    }
  });

  test("and reports when to retry, in the header and where Codex reads it", async () => {
    const engine = {
      ...scriptedEngine([]),
      // oxlint-disable-next-line require-yield -- it fails before there is anything to yield
      async *complete() {
        throw new EngineError("rate-limit", "why", { retryAfter: 2.5 });
      },
    };
    const response = await responsesApp({ engine }).send("POST", "/v1/responses", REQUEST);
    expect(response.headers.get("retry-after")).toBe("3");
    expect(errorBody.parse(await response.json()).error.message).toMatch(/try again in 3s\.$/);
  });
});

describe("an engine that fails later", () => {
  const broken = {
    write: `${ANALYSIS}<|channel|>final<|message|>Hel`,
    fail: new EngineError("closed", "why"),
  };

  test("fails the stream, which never looks finished", async () => {
    const app = responsesApp({ engine: scriptedEngine([broken]) });
    const response = await app.send("POST", "/v1/responses", { ...REQUEST, stream: true });
    expect(response.status).toBe(200);
    const events = await readEvents(response);
    expect(events.map(({ type }) => type).slice(-2)).toEqual(["error", "response.failed"]);
    expect(consume(events)).toMatchObject({
      status: "failed",
      error: { code: "server_error" },
      output: [{ type: "reasoning", status: "completed" }],
    });
  });

  test("is an HTTP status if nothing was sent yet", async () => {
    const app = responsesApp({ engine: scriptedEngine([broken]) });
    expect((await app.send("POST", "/v1/responses", REQUEST)).status).toBe(502);
  });

  test("after a long wait for its first token, fails the stream with an event", async () => {
    const begun = Promise.withResolvers<void>();
    const engine = {
      ...scriptedEngine([]),
      // oxlint-disable-next-line require-yield -- it fails before there is anything to yield
      async *complete() {
        await begun.promise;
        throw new EngineError("unreachable", "why");
      },
    };
    const app = responsesApp({ engine, settings: { keepAliveMs: 10 } });
    const response = await app.send("POST", "/v1/responses", { ...REQUEST, stream: true });
    expect(response.status).toBe(200);
    begun.resolve();
    const text = (await response.text()).replaceAll(/^: .*\n\n/gm, "");
    const events = await readEvents(new Response(text, { headers: response.headers }));
    expect(consume(events).status).toBe("failed");
  });
});

describe("a client that disconnects", () => {
  const HANGING = { write: `${ANALYSIS}<|channel|>final<|message|>Hel`, hang: true };
  // workerd finds out by writing that a client has left, if that had read everything: by default, after half a minute.
  const settings = ON_WORKERS ? { keepAliveMs: 100 } : {};

  test("closes the engine's connection at once", async () => {
    const engine = scriptedEngine([HANGING]);
    const app = responsesApp({ engine, settings });
    const response = await app.send("POST", "/v1/responses", { ...REQUEST, stream: true });
    const reader = response.body?.getReader();
    await reader?.read();
    await expect.poll(() => engine.open).toBe(1);
    await reader?.cancel();
    await expect.poll(() => engine.open).toBe(0);
  });

  test("does not store an unfinished response as complete", async () => {
    const engine = scriptedEngine([HANGING]);
    const app = responsesApp({ engine, settings });
    const response = await app.send("POST", "/v1/responses", { ...REQUEST, stream: true });
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    while (!text.includes("response.output_text.delta"))
      text += (await reader?.read())?.value ?? "";
    const id = /"id":"(resp_\w+)"/.exec(text)?.[1];
    expect(id).toBeDefined();
    await reader?.cancel();
    await expect.poll(() => engine.open).toBe(0);
    expect((await app.send("GET", `/v1/responses/${id}`)).status).toBe(404);
  });
});

describe("the stream", () => {
  test("sends each event in its own write, and the end with the last", async () => {
    const app = responsesApp({ engine: scriptedEngine([ANALYSIS + ANSWER]), here: true });
    const response = await app.send("POST", "/v1/responses", { ...REQUEST, stream: true });
    const writes: string[] = [];
    for await (const bytes of response.body ?? []) writes.push(new TextDecoder().decode(bytes));
    expect(writes.at(-1)).toMatch(/^event: response.completed\ndata: .*\n\ndata: \[DONE\]\n\n$/);
    for (const write of writes.slice(0, -1)) expect(write).toMatch(/^event: \S+\ndata: .*\n\n$/);
  });

  test.each(["/v1", "/api/v1"])("under %s", async (prefix) => {
    const app = responsesApp({ engine: scriptedEngine([ANSWER]) });
    expect((await app.send("POST", `${prefix}/responses`, REQUEST)).status).toBe(200);
  });
});

describe("the Open Responses schema's names", () => {
  const think = () => scriptedEngine([ANALYSIS + ANSWER]);

  test.each([
    ["by setting", { reasoningEvents: "reasoning" }, "/v1/responses", MODEL],
    ["by address", {}, "/open-responses/v1/responses", MODEL],
    ["by model name", {}, "/v1/responses", `${MODEL}:open-responses`],
  ])("%s", async (_, settings, path, model) => {
    const app = responsesApp({ engine: think(), settings });
    const response = await app.send("POST", path, { ...REQUEST, model, stream: true });
    const events = await readEvents(response);
    expect(consume(events, "reasoning")).toMatchObject({
      model,
      output: [{ content: [{ type: "reasoning_text", text: "Hm." }] }, { type: "message" }],
    });
    expect(events.some(({ type }) => type.startsWith("response.reasoning_text"))).toBe(false);
  });

  test("by key", async () => {
    const sha256 = hash("sha256", "a");
    const keys = [{ name: "alice", sha256, reasoningEvents: "reasoning" }];
    const app = responsesApp({ engine: think(), settings: { keys } });
    const response = await app.send("POST", "/v1/responses", { ...REQUEST, stream: true }, "a");
    expect(consume(await readEvents(response), "reasoning").status).toBe("completed");
  });
});
