/** The operator runs a recorded turn again, which changes nothing of the client. */
import { hash } from "node:crypto";
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import * as z from "zod";
import { type Engine, EngineError } from "../../../src/index.ts";
import { eventually } from "../../helpers/eventually.ts";
import { startTestGateway } from "../../helpers/gateway.ts";
import { scriptedEngine, type ScriptedEngine } from "../../helpers/scripted-engine.ts";
import { loopScripts, STEP_TOOL } from "../../helpers/tool-loop.ts";

const TOKEN = "token-of-the-operator-test";
const MODEL = "openai/gpt-oss-20b";
const THINK = "<|channel|>analysis<|message|>Blue?<|end|><|start|>assistant";
const BLUE = `${THINK}<|channel|>final<|message|>The sky is blue.<|return|>`;
const GREY = `${THINK}<|channel|>final<|message|>The sky is grey.<|return|>`;

const listed = z.object({
  turns: z.array(
    z.looseObject({
      number: z.int(),
      id: z.string(),
      tenant: z.string(),
      outcome: z.string(),
      forkedFrom: z.string().nullable(),
      isComplete: z.boolean(),
    }),
  ),
});

async function start(engine: Engine, given: object = {}) {
  const keys = [{ name: "alice", sha256: hash("sha256", "key-of-alice") }];
  const settings = { keys, inspect: true, inspectKey: TOKEN, log: "info", ...given };
  const gateway = await startTestGateway({ engine, settings });
  onTestFinished(() => gateway.close());
  const send = async (method: string, path: string, body?: object, headers = {}) => {
    const response = await fetch(`${gateway.baseURL}${path}`, {
      method,
      headers: {
        "content-type": "application/json",
        authorization: "Bearer key-of-alice",
        ...headers,
      },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, text };
  };
  const inspect = async (path: string, method = "GET", signal?: AbortSignal) => {
    const response = await fetch(`${gateway.origin}/inspect/api/${path}`, {
      method,
      headers: { "x-inspect-token": TOKEN },
      ...(signal && { signal }),
    });
    const body: unknown = await response.json();
    return { status: response.status, body };
  };
  const turns = async () => listed.parse((await inspect("turns")).body).turns;
  return { gateway, settings, send, inspect, turns };
}

const CHAT = { model: MODEL, messages: [{ role: "user", content: "Which colour is the sky?" }] };

test("a turn runs again with the same prompt, as the operator, and is compared", async () => {
  const folder = mkdtempSync(join(tmpdir(), "again-"));
  const auditFile = join(folder, "audit.jsonl");
  const engine = scriptedEngine([BLUE, BLUE, GREY]);
  const { gateway, send, inspect, turns } = await start(engine, { auditFile, metrics: "open" });
  await send("POST", "/chat/completions", CHAT, { "x-request-id": "sky" });
  expect(await inspect("turns/1/again", "POST")).toEqual({ status: 200, body: { number: 2 } });
  expect(await inspect("turns/1/again", "POST")).toEqual({ status: 200, body: { number: 3 } });
  expect(engine.prompts[1]).toBe(engine.prompts[0]);
  expect(engine.prompts[2]).toBe(engine.prompts[0]);
  expect(await turns()).toMatchObject([
    { number: 1, tenant: "alice", id: "sky", forkedFrom: null },
    { number: 2, tenant: "(operator)", forkedFrom: "sky", outcome: "stop", isComplete: true },
    { number: 3, tenant: "(operator)", forkedFrom: "sky" },
  ]);
  expect((await inspect("turns/1/difference/2")).body).toEqual({
    difference: { isSamePrompt: true, output: null },
  });
  expect((await inspect("turns/1/difference/3")).body).toMatchObject({
    difference: { isSamePrompt: true, output: { unit: "token", was: " blue.<|return|>" } },
  });
  // The metrics count usage of clients only.
  const metrics = await (await fetch(`${gateway.origin}/metrics`)).text();
  expect(metrics.match(/^harmony_gateway_turns_total\{.*/gm)).toEqual([
    expect.stringMatching(/ 1$/),
  ]);
  expect(metrics).toContain('harmony_gateway_key_tokens_total{key="alice"');
  expect(metrics).not.toContain('key="(operator)"');
  // An open page requests the engines each second.
  await inspect("engines");
  await inspect("turns/9");
  const lines = gateway.logged.filter(({ tenant }) => tenant === "(operator)");
  expect(lines.map(({ event }) => event)).toContain("turn");
  await eventually(() => {
    const audited = readFileSync(auditFile, "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    const routes = audited.map(({ route }) => route);
    expect(routes).toContain("/inspect/api/turns/:number");
    expect(routes).not.toContain("/inspect/api/engines");
    const keys = audited.filter(({ turns: count }) => count > 0);
    expect(keys.map(({ key }) => key)).toEqual(["alice", "(operator)", "(operator)"]);
  });
});

test.each([
  ["/chat/completions", CHAT],
  ["/responses", { model: MODEL, input: "Which colour is the sky?", instructions: "Be short." }],
  ["/messages", { model: MODEL, max_tokens: 500, messages: CHAT.messages, system: "Be short." }],
])("a request to %s runs again, plain and streamed", async (path, body) => {
  const engine = scriptedEngine(() => BLUE);
  const { send, inspect, turns } = await start(engine);
  for (const [index, stream] of [false, true].entries()) {
    await send("POST", path, { ...body, stream });
    const number = index * 2 + 1;
    const ran = await inspect(`turns/${number}/again`, "POST");
    expect(ran).toEqual({ status: 200, body: { number: number + 1 } });
    expect((await turns()).at(-1)).toMatchObject({ tenant: "(operator)", outcome: "stop" });
    expect(engine.prompts[number]).toBe(engine.prompts[number - 1]);
  }
});

describe("a client's stored", () => {
  test("responses and conversations do not change, and are not needed", async () => {
    const engine = scriptedEngine(() => BLUE);
    const { send, inspect } = await start(engine);
    const created = await send("POST", "/conversations", {});
    const conversation = JSON.parse(created.text).id;
    const body = { model: MODEL, input: "Which colour is the sky?", conversation };
    await send("POST", "/responses", body);
    await send("POST", "/responses", { ...body, input: "Sure?" });
    const path = `/conversations/${conversation}/items`;
    const before = await send("GET", path);
    expect(await inspect("turns/2/again", "POST")).toMatchObject({ status: 200 });
    expect(engine.prompts[2]).toBe(engine.prompts[1]);
    expect(engine.prompts[2]).toContain("Which colour is the sky?");
    expect(await send("GET", path)).toEqual(before);
  });

  test("reasoning is not read: the run has the recorded reasoning", async () => {
    const engine = scriptedEngine(loopScripts("first").concat(loopScripts("second")));
    const { send, inspect } = await start(engine);
    const first = await send("POST", "/chat/completions", { ...CHAT, tools: [STEP_TOOL] });
    const [choice] = JSON.parse(first.text).choices;
    const { tool_calls: calls } = choice.message;
    const messages = [
      ...CHAT.messages,
      { role: "assistant", content: null, tool_calls: calls },
      { role: "tool", tool_call_id: calls[0].id, content: "done" },
    ];
    await send("POST", "/chat/completions", { ...CHAT, messages, tools: [STEP_TOOL] });
    expect(await inspect("turns/2/again", "POST")).toMatchObject({ status: 200 });
    expect(engine.prompts[2]).toBe(engine.prompts[1]);
    expect(engine.prompts[2]).toContain("<|channel|>analysis");
  });
});

test("one of several choices runs alone", async () => {
  const engine = scriptedEngine(() => BLUE);
  const { send, inspect } = await start(engine);
  await send("POST", "/chat/completions", { ...CHAT, n: 3 });
  expect(engine.requests).toHaveLength(3);
  expect(await inspect("turns/2/again", "POST")).toMatchObject({ status: 200 });
  expect(engine.requests).toHaveLength(4);
});

test("a second run waits for no engine while one runs, and ends when its page leaves", async () => {
  const engine: ScriptedEngine = scriptedEngine((_, call) =>
    call === 0 ? BLUE : { write: THINK, hang: true },
  );
  const { gateway, settings, send, inspect, turns } = await start(engine);
  await send("POST", "/chat/completions", CHAT);
  const leaving = new AbortController();
  const first = inspect("turns/1/again", "POST", leaving.signal);
  await expect.poll(() => engine.open).toBe(1);
  // The limit holds after a reload, too.
  await gateway.reload(settings);
  expect(await inspect("turns/1/again", "POST")).toEqual({
    status: 409,
    body: { error: "A turn is being run again. Wait until it has ended." },
  });
  leaving.abort();
  await expect(first).rejects.toThrow("aborted");
  await expect.poll(() => engine.open).toBe(0);
  await expect.poll(async () => (await turns()).at(-1)?.outcome).toBe("cancelled");
  // The next run may begin.
  const next = new AbortController();
  const second = inspect("turns/1/again", "POST", next.signal);
  await expect.poll(() => engine.open).toBe(1);
  next.abort();
  await expect(second).rejects.toThrow("aborted");
});

test("a run that fails is a failed turn", async () => {
  const fail = new EngineError("server-error", "vllm failed (500).");
  const engine = scriptedEngine((_, call) => (call === 0 ? BLUE : { write: THINK, fail }));
  const { send, inspect, turns } = await start(engine);
  await send("POST", "/chat/completions", CHAT);
  expect(await inspect("turns/1/again", "POST")).toMatchObject({ status: 200 });
  expect((await turns()).at(-1)).toMatchObject({ tenant: "(operator)", outcome: "failed" });
});

test("a run that is refused before it is recorded says so", async () => {
  const engine = scriptedEngine(() => BLUE);
  const { gateway, settings, send, inspect, turns } = await start(engine);
  await send("POST", "/chat/completions", CHAT);
  await gateway.reload({ ...settings, maxBodyBytes: 10 });
  expect(await inspect("turns/1/again", "POST")).toEqual({
    status: 502,
    body: { error: "The turn could not be run again: it was refused with status 413." },
  });
  expect(await turns()).toHaveLength(1);
});

test.each([
  [
    "its content is not kept",
    CHAT,
    { "x-harmony-record": "off" },
    {},
    "The content of this turn is not kept, so it cannot be run again.",
  ],
  [
    "it was rejected",
    { ...CHAT, model: "gpt-4o" },
    {},
    {},
    "The request was rejected before its turn began.",
  ],
  [
    "it is cut",
    { ...CHAT, messages: [{ role: "user", content: "a ".repeat(20_000) }] },
    {},
    { inspectMaxBytes: 200_000 },
    "The request or the prompt was too large to be kept, so the turn cannot be run again.",
  ],
])("a turn is not run again where %s", async (_, body, headers, settings, error) => {
  const engine = scriptedEngine(() => BLUE);
  const { send, inspect } = await start(engine, settings);
  await send("POST", "/chat/completions", body, headers);
  const asked = engine.requests.length;
  expect(await inspect("turns/1/again", "POST")).toEqual({ status: 409, body: { error } });
  expect(engine.requests).toHaveLength(asked);
});

test("the token of the inspector is needed, and a turn that is kept", async () => {
  const engine = scriptedEngine(() => BLUE);
  const { gateway, send, inspect } = await start(engine);
  await send("POST", "/chat/completions", CHAT);
  for (const headers of [{}, { authorization: "Bearer key-of-alice" }]) {
    const url = `${gateway.origin}/inspect/api/turns/1/again`;
    expect((await fetch(url, { method: "POST", headers })).status).toBe(401);
  }
  expect(engine.requests).toHaveLength(1);
  for (const path of ["turns/9/again", "turns/x/again"]) {
    expect((await inspect(path, "POST")).status).toBe(404);
  }
  expect((await inspect("turns/1/difference/9")).status).toBe(404);
});

test("a client can say which turn its request was made from, as an id and nothing else", async () => {
  const { send, inspect, turns } = await start(scriptedEngine(() => BLUE));
  for (const fork of ["req_1", "<b>x</b>", "a".repeat(200)]) {
    await send("POST", "/chat/completions", CHAT, { "x-harmony-fork-of": fork });
  }
  expect((await turns()).map(({ forkedFrom }) => forkedFrom)).toEqual(["req_1", null, null]);
  expect((await inspect("turns/1/file?as=json")).body).toMatchObject({ forkedFrom: "req_1" });
});
