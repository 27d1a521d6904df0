import { hash } from "node:crypto";
import type { ServerResponse } from "node:http";
import { expect, test } from "vitest";
import { EngineError } from "../../../src/index.ts";
import { createPool } from "../../../src/engines/pool.ts";
import { createShutdown } from "../../../src/models/shutdown.ts";
import { o200kHarmony } from "../../../src/tokenizer/index.ts";
import { eventually } from "../../helpers/eventually.ts";
import { pngOf } from "../../helpers/png.ts";
import { createRecordedApp } from "../../helpers/recorded-app.ts";
import { scriptedEngine } from "../../helpers/scripted-engine.ts";
import { loopScripts, STEP_TOOL } from "../../helpers/tool-loop.ts";
import { sendDescription, startVisionServer } from "../../helpers/vision-server.ts";
import { readChatMessage } from "../../helpers/replies.ts";

const THINK = "<|channel|>analysis<|message|>Let me think.<|end|><|start|>assistant";
const FINAL = "<|channel|>final<|message|>Hello 👩‍🚀!<|return|>";
const SEALING_KEY = "c2VhbGluZy1rZXktb2YtdGhlLXJlY29yZGVyLXRlc3Q";
const HELLO = { model: "openai/gpt-oss-20b", messages: [{ role: "user", content: "Hi" }] };
const image_url = { url: `data:image/png;base64,${pngOf(1, 1)}` };
/** A stream about an image. */
const SEEN = {
  ...HELLO,
  stream: true,
  messages: [{ role: "user", content: [{ type: "image_url", image_url }] }],
};

test("a turn is recorded from the request to the answer", async () => {
  const engine = scriptedEngine([THINK + FINAL]);
  const app = createRecordedApp({ engine });
  const response = await app.post("/v1/chat/completions", HELLO, {
    authorization: "Bearer secret",
    "user-agent": "test/1",
    "x-request-id": "req-1",
  });
  const answer = await response.text();
  const [record] = await app.records();
  expect(record).toMatchObject({
    version: 1,
    gateway: "0.0.0-test",
    id: "req-1",
    at: "2026-01-31T12:00:00.000Z",
    api: "chat-completions",
    tenant: "anonymous",
    model: "openai/gpt-oss-20b",
    content: true,
    reasoningFrom: null,
    request: { method: "POST", path: "/v1/chat/completions", body: JSON.stringify(HELLO) },
    decisions: [
      { type: "continue", outcome: "begun" },
      { type: "finish", outcome: "stopped", reason: "stop" },
    ],
    recoveries: [],
    answer: { status: 200, contentType: "application/json", body: answer },
    end: { outcome: "stop", nativeReason: "stop", usage: { engineCalls: 1 } },
    cut: [],
  });
  expect(JSON.stringify(record)).not.toContain("secret");
  expect(record?.request?.headers["user-agent"]).toBe("test/1");
  expect(record?.prompt?.ids).toEqual(engine.requests[0]?.prompt.ids);
  expect(record?.conversation.map(({ role, source }) => [role, source])).toEqual([
    ["system", "gateway"],
    ["user", "client"],
  ]);
  const lengths = record?.prompt?.segments.map(({ message, tokens }) => [message, tokens]);
  expect(lengths).toEqual([
    [0, record?.conversation[0]?.tokens],
    [1, record?.conversation[1]?.tokens],
    [null, 2],
  ]);
});

test.each(["ids", "pieces", "text"] as const)(
  "parts name the units they were read from, on an engine that gives %s",
  async (form) => {
    const answer = "<|channel|>final<|message|>Hello!<|return|>";
    const engine = scriptedEngine([THINK + answer], { form, batch: 3 });
    const app = createRecordedApp({ engine });
    await (await app.post("/v1/chat/completions", HELLO)).text();
    const [record] = await app.records();
    expect(record?.parts.map(({ kind, text, sent, header }) => [kind, text, sent, header])).toEqual(
      [
        ["reasoning", "Let me think.", true, "model"],
        ["content", "Hello!", true, "model"],
      ],
    );
    const spans = record?.parts.flatMap((part) => part.spans);
    const used = record?.calls[0]?.used;
    expect(spans?.[0]?.from).toBe(0);
    expect(spans?.at(-1)?.to).toBe(used);
    expect(spans?.[0]?.to).toBeGreaterThan(0);
    expect(spans?.[0]?.to).toBeLessThanOrEqual(spans?.[1]?.from ?? 0);
  },
);

test("each engine call says why it was made, what was appended, and what of it the model had written", async () => {
  const engine = scriptedEngine(["One.<|end|>", '{"n":"one"}<|call|>', '{"n":1}<|call|>']);
  const app = createRecordedApp({ engine });
  const tool = { ...STEP_TOOL, function: { ...STEP_TOOL.function, strict: true } };
  const body = { ...HELLO, tools: [tool], tool_choice: "required" };
  await (await app.post("/v1/chat/completions", body)).text();
  const [record] = await app.records();
  const decided = record?.calls.map(({ decision }) => record.decisions[decision ?? -1]?.type);
  expect(decided).toEqual(["open-reasoning", "open-call", "retry-call"]);
  const tokenizer = o200kHarmony();
  const [, call, retry] = (record?.calls ?? []).map(({ appended, written }) => {
    if (!Array.isArray(appended)) throw new Error("content is kept");
    return tokenizer.decode(appended.slice(written));
  });
  expect(call).toContain("to=functions.step");
  expect(retry).toContain("Error: the arguments were rejected");
  expect(record?.calls[2]?.kept).toBe(record?.calls[1]?.promptTokens);
  const calls = record?.parts.filter(({ kind }) => kind === "tool-call");
  expect(calls?.map(({ spans }) => spans.at(-1))).toEqual([
    { call: 1, from: 0, to: record?.calls[1]?.used },
    { call: 2, from: 0, to: record?.calls[2]?.used },
  ]);
  expect(calls?.map(({ text, sent, header }) => [text, sent, header])).toEqual([
    ['{"n":"one"}', false, "gateway"],
    ['{"n":1}', true, "gateway"],
  ]);
  expect(record?.recoveries).toMatchObject([
    { name: "invalid-arguments", call: 1, became: "retry-call" },
  ]);
});

test("a recovery has the place where it was made", async () => {
  const engine = scriptedEngine([
    "<|channel|>analysis<|message|>Hm.<|channel|>final<|message|>Hello<|return|>",
  ]);
  const app = createRecordedApp({ engine });
  await (await app.post("/v1/chat/completions", HELLO)).text();
  const [record] = await app.records();
  const [recovery] = record?.recoveries ?? [];
  expect(recovery).toEqual({
    name: "implicit-close",
    call: 0,
    at: 6,
    was: "<|channel|>analysis<|message|>Hm.<|channel|>",
    became: "content",
  });
});

test("analysis that is left out is marked with the answer that finished it", async () => {
  const engine = scriptedEngine([FINAL]);
  const app = createRecordedApp({ engine });
  const messages = [
    { role: "user", content: "Hi" },
    { role: "assistant", content: "Hello", reasoning: "old reasoning" },
    { role: "user", content: "Again" },
  ];
  await (await app.post("/v1/chat/completions", { ...HELLO, messages })).text();
  const [record] = await app.records();
  const dropped = record?.conversation.filter((message) => message.dropped);
  expect(dropped).toMatchObject([
    { channel: "analysis", text: "old reasoning", dropped: { reason: "finished", finishedBy: 3 } },
  ]);
});

test.each([
  ["raw", "stored"],
  ["sealed", "sealed"],
] as const)("with the policy %s, the reasoning of a tool loop is %s", async (policy, source) => {
  const engine = scriptedEngine(loopScripts("plan"));
  const app = createRecordedApp({
    engine,
    settings: { reasoningPolicy: policy, sealingKeys: [SEALING_KEY] },
  });
  const messages: object[] = [{ role: "user", content: "Go" }];
  const ask = async () => {
    const body = { ...HELLO, messages, tools: [STEP_TOOL] };
    return readChatMessage(await app.post("/v1/chat/completions", body));
  };
  const { reasoning_details: details, ...first } = await ask();
  delete first.reasoning;
  delete first["reasoning_content"];
  messages.push(policy === "sealed" ? { ...first, reasoning_details: details } : first);
  messages.push({ role: "tool", tool_call_id: first.tool_calls?.[0]?.id, content: "ok" });
  await ask();
  const record = (await app.records()).at(-1);
  expect(record?.reasoningFrom).toBe(source);
  const analysis = record?.conversation.find(({ channel }) => channel === "analysis");
  expect(analysis).toMatchObject({ text: "plan 1", source });
});

test("streamed answers are kept event by event, and the record is complete after the last", async () => {
  const engine = scriptedEngine([THINK + FINAL]);
  const app = createRecordedApp({ engine });
  const response = await app.post("/v1/chat/completions", { ...HELLO, stream: true });
  expect(app.entries[0]?.isComplete).toBe(false);
  const streamed = await response.text();
  await eventually(() => expect(app.entries[0]?.isComplete).toBe(true));
  const [record] = await app.records();
  const events = (record?.answer?.events ?? []).map(({ text }) => {
    return typeof text === "string" ? text : "";
  });
  expect(events.join("")).toBe(streamed);
});

test.each([
  ["/v1/responses", { model: HELLO.model, input: "Hi" }, "responses"],
  ["/v1/messages", { model: HELLO.model, max_tokens: 100, messages: HELLO.messages }, "messages"],
])("turns of %s are recorded", async (path, body, api) => {
  const engine = scriptedEngine([THINK + FINAL]);
  const app = createRecordedApp({ engine });
  await (await app.post(path, body)).text();
  const [record] = await app.records();
  expect(record).toMatchObject({ api, request: { path }, end: { outcome: "stop" } });
});

test("the summary of a complete turn is made once, however often it is listed", async () => {
  const app = createRecordedApp({ engine: scriptedEngine([FINAL]) });
  await (await app.post("/v1/chat/completions", HELLO)).text();
  await app.records();
  const [entry] = app.entries;
  expect(entry?.summary()).toMatchObject({ outcome: "stop", words: "Hi", status: 200 });
  expect(entry?.summary()).toBe(entry?.summary());
});

test("each choice of a request is a record of its own", async () => {
  const engine = scriptedEngine([FINAL, FINAL]);
  const app = createRecordedApp({ engine });
  await (
    await app.post("/v1/chat/completions", { ...HELLO, n: 2 }, { "x-request-id": "r" })
  ).text();
  expect((await app.records()).map(({ id, end }) => [id, end?.outcome])).toEqual([
    ["r", "stop"],
    ["r-2", "stop"],
  ]);
  expect(app.entries.map(({ isComplete }) => isComplete)).toEqual([true, true]);
});

test("a request that is refused is recorded with the reason", async () => {
  const app = createRecordedApp({ engine: scriptedEngine([]) });
  await app.post("/v1/chat/completions", { model: HELLO.model, messages: [] });
  const [record] = await app.records();
  expect(record).toMatchObject({
    calls: [],
    end: { outcome: "rejected" },
    answer: { status: 400 },
  });
  expect(record?.end?.error).toContain("messages");
});

test("a request that is refused behind the head of its stream is recorded with the reason", async () => {
  const waiting = Promise.withResolvers<ServerResponse>();
  const app = await createSeeingApp(waiting.resolve);
  const response = await app.post("/v1/chat/completions", {
    ...SEEN,
    tool_choice: { type: "function", function: { name: "none" } },
  });
  expect(response.status).toBe(200);
  sendDescription(await waiting.promise, "A cat.");
  await response.text();
  const [record] = await app.records();
  expect(record?.end).toMatchObject({
    outcome: "rejected",
    error: expect.stringContaining("tool_choice"),
  });
});

test("a stream is running, not answered, until its image is described", async () => {
  const waiting = Promise.withResolvers<ServerResponse>();
  const app = await createSeeingApp(waiting.resolve);
  const response = await app.post("/v1/chat/completions", SEEN);
  const description = await waiting.promise;
  expect(app.entries[0]?.summary()).toMatchObject({ outcome: "running", status: 200 });
  sendDescription(description, "A cat.");
  await response.text();
  expect(app.entries[0]?.summary()).toMatchObject({ outcome: "stop" });
});

test("a stream whose client leaves before its image is described is recorded as cancelled", async () => {
  const waiting = Promise.withResolvers<ServerResponse>();
  const app = await createSeeingApp(waiting.resolve);
  const response = await app.post("/v1/chat/completions", SEEN);
  await waiting.promise;
  await response.body?.cancel();
  await eventually(() => expect(app.entries[0]?.isComplete).toBe(true));
  expect(app.entries[0]?.summary()).toMatchObject({ outcome: "cancelled" });
});

test("a turn that the client leaves is recorded as cancelled, without an error of it or of its call", async () => {
  const app = createRecordedApp({ engine: scriptedEngine([{ write: THINK, hang: true }]) });
  const response = await app.post("/v1/chat/completions", { ...HELLO, stream: true });
  await response.body?.cancel("left");
  await eventually(() => expect(app.entries[0]?.isComplete).toBe(true));
  const [record] = await app.records();
  expect(record?.end).toEqual({ outcome: "cancelled", nativeReason: null });
  expect(record?.calls[0]).not.toHaveProperty("error");
  expect(app.entries[0]?.summary()).toMatchObject({ outcome: "cancelled", problem: null });
});

test("a turn that a shutdown stops is recorded as failed", async () => {
  const shutdown = createShutdown();
  const engine = scriptedEngine([{ write: THINK, hang: true }]);
  const app = createRecordedApp({ engine, shutdown });
  const response = await app.post("/v1/chat/completions", { ...HELLO, stream: true });
  shutdown.stop();
  await response.text();
  const [record] = await app.records();
  expect(record?.end).toEqual({
    outcome: "failed",
    nativeReason: null,
    error: "The gateway is shutting down. (shutdown)",
  });
});

test("backends that failed are named, and the one that answered", async () => {
  const failure = new EngineError("unavailable", "down");
  const broken = scriptedEngine(() => ({ refuse: failure }));
  const engine = createPool([
    { id: "first", engine: broken },
    { id: "second", engine: scriptedEngine(() => FINAL) },
  ]);
  const app = createRecordedApp({ engine });
  for (let turn = 0; turn < 2; turn++) {
    await (await app.post("/v1/chat/completions", HELLO)).text();
  }
  const failed = (await app.records()).find(({ calls }) => (calls[0]?.attempts.length ?? 0) > 1);
  expect(failed).toMatchObject({ backend: "second" });
  expect(failed?.calls[0]?.attempts).toMatchObject([
    { backend: "first", error: "down (unavailable)" },
    { backend: "second" },
  ]);
});

test("an engine that fails leaves a record of how far it came", async () => {
  const fail = new EngineError("closed", "connection lost");
  const engine = scriptedEngine([{ write: "<|channel|>analysis<|message|>Let me", fail }]);
  const app = createRecordedApp({ engine });
  await (await app.post("/v1/chat/completions", { ...HELLO, stream: true })).text();
  const [record] = await app.records();
  expect(record?.end).toMatchObject({ outcome: "failed", error: "connection lost (closed)" });
  expect(record?.calls[0]).toMatchObject({ error: "connection lost (closed)", used: 5 });
  expect(record?.parts).toMatchObject([{ kind: "reasoning", text: "Let me" }]);
});

test("where content is not kept, texts and ids are only counted", async () => {
  const engine = scriptedEngine([THINK + FINAL]);
  const app = createRecordedApp({ engine, recorder: { keepsContent: false } });
  const body = { ...HELLO, messages: [{ role: "user", content: "a very private question" }] };
  await (await app.post("/v1/chat/completions", body)).text();
  const [record] = await app.records();
  const json = JSON.stringify([record, app.entries[0]?.summary()]);
  for (const word of ["private", "Let me think", "Hello"]) expect(json).not.toContain(word);
  expect(record).toMatchObject({
    content: false,
    request: { body: { chars: JSON.stringify(body).length } },
    prompt: { ids: { count: engine.requests[0]?.prompt.ids.length } },
    parts: [
      { kind: "reasoning", text: { chars: 13 } },
      { kind: "content", text: { chars: 12 } },
    ],
  });
});

test("where content is not kept, errors are left out", async () => {
  const engine = scriptedEngine([{ write: THINK, fail: new EngineError("closed", "secret") }]);
  const app = createRecordedApp({ engine, recorder: { keepsContent: false } });
  await (await app.post("/v1/chat/completions", HELLO)).text();
  const [record] = await app.records();
  expect(record?.end).toMatchObject({ error: "left out, because content is not kept" });
});

test("a record that would be too large is cut and says so", async () => {
  const engine = scriptedEngine([`<|channel|>final<|message|>${"word ".repeat(2000)}<|return|>`]);
  const limits = { maxRecordBytes: 20_000, maxTotalBytes: 1_000_000, maxRecords: 10 };
  const app = createRecordedApp({ engine, recorder: { limits } });
  await (await app.post("/v1/chat/completions", HELLO)).text();
  const [record] = await app.records();
  const total = record?.end?.usage?.completionTokens;
  const cut = record?.cut.find(({ what }) => what === "reads");
  const kept = record?.calls[0]?.reads.length ?? 0;
  expect((cut?.left ?? 0) + kept).toBe(total);
  expect(kept).toBeGreaterThan(0);
});

test("the oldest records make room, by number and by bytes", async () => {
  const engine = scriptedEngine(() => FINAL);
  const limits = { maxRecordBytes: 100_000, maxTotalBytes: 100_000, maxRecords: 3 };
  const app = createRecordedApp({ engine, recorder: { limits } });
  for (let turn = 0; turn < 5; turn++) {
    await (await app.post("/v1/chat/completions", HELLO)).text();
  }
  expect(app.entries.map(({ number }) => number)).toEqual([3, 4, 5]);
  const long = { ...HELLO, messages: [{ role: "user", content: "a ".repeat(30_000) }] };
  for (let turn = 0; turn < 2; turn++) {
    await (await app.post("/v1/chat/completions", long)).text();
  }
  expect(app.entries.map(({ number }) => number)).toEqual([7]);
});

test("the tokens that a model has written are counted, those of running turns included", async () => {
  const engine = scriptedEngine([FINAL, { write: THINK, hang: true }]);
  const app = createRecordedApp({ engine });
  await (await app.post("/v1/chat/completions", HELLO)).text();
  const [record] = await app.records();
  const ended = record?.end?.usage?.completionTokens ?? 0;
  expect(ended).toBeGreaterThan(3);
  expect(app.recorder.writtenBy(HELLO.model)).toBe(ended);
  const abort = new AbortController();
  const running = app.request("/v1/chat/completions", {
    method: "POST",
    body: JSON.stringify({ ...HELLO, stream: true }),
    signal: abort.signal,
  });
  const all = () => app.recorder.writtenBy(HELLO.model);
  await expect.poll(all).toBeGreaterThan(ended + 3);
  const before = all();
  abort.abort();
  await running.then((response) => response.body?.cancel());
  await expect.poll(() => app.entries[1]?.isComplete).toBe(true);
  expect(all()).toBe(before);
  expect(app.recorder.writtenBy("another")).toBe(0);
});

test("nothing is recorded without a listener, and recording ends with the last one", async () => {
  const engine = scriptedEngine(() => FINAL);
  const app = createRecordedApp({ engine });
  const stop = app.recorder.listen(() => undefined);
  stop();
  await (await app.post("/v1/chat/completions", HELLO)).text();
  expect(app.entries).toHaveLength(1);
});

test("two tenants that choose the same request id at the same time have records of their own", async () => {
  const keys = ["anna", "berta"].map((name) => ({ name, sha256: hash("sha256", `key-${name}`) }));
  const app = createRecordedApp({
    engine: scriptedEngine((_, call) => `<|channel|>final<|message|>answer ${call}<|return|>`),
    settings: { keys },
  });
  await Promise.all(
    keys.map(async ({ name }) => {
      const body = { ...HELLO, messages: [{ role: "user", content: `I am ${name}` }] };
      const headers = { "x-request-id": "same", authorization: `Bearer key-${name}` };
      await (await app.post("/v1/chat/completions", body, headers)).text();
    }),
  );
  const known = (await app.records()).map(({ tenant, id, conversation, request }) => {
    return [tenant, id, conversation.at(-1)?.text, JSON.stringify(request).includes(tenant)];
  });
  // Their keys are hashed at the same time, so either may be the first.
  expect(new Set(known)).toEqual(
    new Set([
      ["anna", "same", "I am anna", true],
      ["berta", "same", "I am berta", true],
    ]),
  );
});

test("a request without a valid key is not recorded", async () => {
  const keys = [{ name: "anna", sha256: hash("sha256", "key") }];
  const app = createRecordedApp({ engine: scriptedEngine([FINAL]), settings: { keys } });
  const response = await app.post("/v1/chat/completions", HELLO);
  expect(response.status).toBe(401);
  expect(app.entries).toHaveLength(0);
});

test("keys of MCP servers are left out of the body", async () => {
  const app = createRecordedApp({ engine: scriptedEngine([FINAL]) });
  const server = {
    type: "mcp",
    server_label: "x",
    server_url: "https://example.com",
    authorization: "tok/en",
  };
  const body = { model: HELLO.model, input: "Hi", tools: [server] };
  await app.post("/v1/responses", body);
  const [record] = await app.records();
  expect(JSON.stringify(record)).not.toContain("tok/en");
  expect(record?.request?.body).toContain("left out of the record");
});

/** Describes images with a vision model. `onCall` gets its response, without a description; the head of a stream is sent meanwhile. */
async function createSeeingApp(onCall: (response: ServerResponse) => void) {
  const vision = await startVisionServer(() => onCall);
  const settings = { ...vision.settings, keepAliveMs: 20 };
  return createRecordedApp({ engine: scriptedEngine([THINK + FINAL]), settings });
}
