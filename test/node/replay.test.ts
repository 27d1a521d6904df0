import { randomUUID } from "node:crypto";
import { mkdtempSync, readdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import * as z from "zod";
import { EngineError } from "../../src/index.ts";
import { BROWSER } from "../helpers/browsing-app.ts";
import { fakeTool } from "../helpers/fake-tool.ts";
import { createRecordedApp, type RecordedApp } from "../helpers/recorded-app.ts";
import { type Script, type ScriptedOptions, scriptedEngine } from "../helpers/scripted-engine.ts";
import { replay, runCommand } from "../helpers/command-io.ts";
import { loopScripts, STEP_TOOL } from "../helpers/tool-loop.ts";
import { readChatMessage } from "../helpers/replies.ts";

const MODEL = "openai/gpt-oss-20b";
const HELLO = { model: MODEL, messages: [{ role: "user", content: "Hi <|end|> there" }] };
const FINAL =
  "<|channel|>analysis<|message|>Let me think.<|end|><|start|>assistant<|channel|>final<|message|>Hello!<|return|>";
const STRICT = { ...STEP_TOOL, function: { ...STEP_TOOL.function, strict: true } };
const REQUIRED = { ...HELLO, tools: [STRICT], tool_choice: "required" };
const RETRIED = ["One.<|end|>", '{"n":"one"}<|call|>', '{"n":1}<|call|>'];
const SCHEMA = { type: "object", properties: { n: { type: "integer" } }, required: ["n"] };
const DOCUMENT = {
  ...HELLO,
  response_format: { type: "json_schema", json_schema: { name: "n", schema: SCHEMA } },
};
const LONG_THOUGHT = `<|channel|>analysis<|message|>${"and then ".repeat(40)}`;

type TurnRecord = Awaited<ReturnType<RecordedApp["records"]>>[number];

async function lastRecord(app: RecordedApp): Promise<TurnRecord> {
  const record = (await app.records()).at(-1);
  if (record === undefined) throw new Error("no record was made");
  return record;
}

const folder = mkdtempSync(join(tmpdir(), "replay-"));

/** Runs a command on the file of a record. */
function runOn(command: string, record: unknown, ...flags: string[]) {
  const file = join(folder, `${randomUUID()}.json`);
  writeFileSync(file, typeof record === "string" ? record : JSON.stringify(record));
  return runCommand([command, file, ...flags]);
}

async function compareAgain(app: RecordedApp) {
  return replay(await lastRecord(app));
}

const TURNS: readonly (readonly [
  name: string,
  scripts: readonly Script[],
  path: string,
  body: object,
  options?: ScriptedOptions,
])[] = [
  ["a plain turn", [FINAL], "/v1/chat/completions", HELLO],
  ["a preset", [FINAL], "/v1/chat/completions", { ...HELLO, model: "review" }],
  ["a stream", [FINAL], "/v1/chat/completions", { ...HELLO, stream: true }],
  ["pieces", [FINAL], "/v1/chat/completions", HELLO, { form: "pieces", batch: 3 }],
  ["text", [FINAL], "/v1/chat/completions", HELLO, { form: "text", batch: 5 }],
  ["log probabilities", [FINAL], "/v1/chat/completions", { ...HELLO, logprobs: true }],
  ["a call that is retried", RETRIED, "/v1/chat/completions", REQUIRED],
  [
    "a document that is retried",
    ["<|channel|>final<|message|>{}<|return|>", '{"n":1}<|return|>'],
    "/v1/chat/completions",
    DOCUMENT,
  ],
  [
    "reasoning over its budget",
    [LONG_THOUGHT, "Hello<|return|>"],
    "/v1/chat/completions",
    { ...HELLO, reasoning: { max_tokens: 20 } },
  ],
  ["a stop string", [FINAL], "/v1/chat/completions", { ...HELLO, stop: ["llo"] }],
  [
    "a recovery",
    ["<|channel|>analysis<|message|>Hm.<|channel|>final<|message|>Hello<|return|>"],
    "/v1/chat/completions",
    HELLO,
  ],
  ["a response", [FINAL], "/v1/responses", { model: MODEL, input: "Hi", stream: true }],
  [
    "a message",
    [FINAL],
    "/v1/messages",
    { model: MODEL, max_tokens: 99, messages: HELLO.messages, stream: true },
  ],
  [
    "an engine that fails",
    [{ write: FINAL.slice(0, 40), fail: new EngineError("closed", "lost") }],
    "/v1/chat/completions",
    { ...HELLO, stream: true },
  ],
];

test.each(
  TURNS.map(([name, scripts, path, body, options = {}]) => ({
    name,
    scripts,
    path,
    body,
    options,
  })),
)("$name gives the same when it is run again", async ({ scripts, path, body, options }) => {
  const app = createRecordedApp({
    engine: scriptedEngine(scripts, options),
    settings: { presets: { review: { model: MODEL, effort: "high", instructions: "Review." } } },
  });
  await (await app.post(path, body)).text();
  const comparison = await compareAgain(app);
  expect(comparison.differences).toEqual([]);
  expect(comparison.same).toEqual(expect.arrayContaining(["prompt", "parts", "answer"]));
});

test("a call of a trained tool is converted again, and one that was explained to the model is so again", async () => {
  const call = (command: string) =>
    `<|channel|>analysis to=container.exec code<|message|>{"command":${command}}<|call|>`;
  const app = createRecordedApp({
    engine: scriptedEngine([call("[]"), call('["bash","-lc","ls"]')]),
    settings: { trainedTools: "direct" },
  });
  const properties = {
    command: { type: "string" },
    workdir: { type: "string" },
    timeout: { type: "integer" },
  };
  const parameters = { type: "object", properties, required: ["command"] };
  const tools = [
    { type: "function", function: { name: "bash", description: "A shell.", parameters } },
  ];
  await (await app.post("/v1/chat/completions", { ...HELLO, tools })).text();
  const comparison = await compareAgain(app);
  expect(comparison.differences).toEqual([]);
  expect(comparison.same).toEqual(expect.arrayContaining(["prompt", "parts", "answer"]));
});

test("a tool that was shown under another name has it again", async () => {
  const call = ' to=functions.run_python<|channel|>commentary json<|message|>{"code":"1"}<|call|>';
  const app = createRecordedApp({
    engine: scriptedEngine([call]),
    settings: { nameShield: "on" },
  });
  const tools = [{ type: "function", function: { name: "python" } }];
  await (await app.post("/v1/chat/completions", { ...HELLO, tools })).text();
  const comparison = await compareAgain(app);
  expect(comparison.differences).toEqual([]);
  expect(comparison.same).toEqual(expect.arrayContaining(["prompt", "parts", "answer"]));
});

test("a file can set nothing of the gateway but how its turn was steered", async () => {
  const withoutAnswer = "<|channel|>analysis<|message|>Hm.<|return|>";
  const engine = scriptedEngine([withoutAnswer, "Hello<|return|>"]);
  const app = createRecordedApp({ engine });
  await (await app.post("/v1/chat/completions", HELLO)).text();
  const record = await lastRecord(app);
  const rerun = async (changed: object) => {
    const steering = { ...record.settings?.steering, ...changed };
    const { differences } = await replay({ ...record, settings: { ...record.settings, steering } });
    return differences.map(({ where }) => where);
  };
  expect(await rerun({ openMissingAnswer: 0, maxBodyBytes: 1 })).toEqual([]);
  expect(await rerun({ openMissingAnswer: false })).toContain("calls");
});

test("a tool loop whose reasoning was stored can be run again without a store", async () => {
  const app = createRecordedApp({ engine: scriptedEngine(loopScripts("plan")) });
  const body = { ...HELLO, tools: [STEP_TOOL] };
  const { tool_calls: calls } = await readChatMessage(await app.post("/v1/chat/completions", body));
  const messages = [
    ...HELLO.messages,
    { role: "assistant", content: null, tool_calls: calls },
    { role: "tool", tool_call_id: calls?.[0]?.id, content: "ok" },
  ];
  await (await app.post("/v1/chat/completions", { ...body, messages })).text();
  const record = (await app.records()).at(-1);
  const sources = record?.conversation.map(({ source }) => source);
  expect(sources).toContain("stored");
  expect(await compareAgain(app)).toMatchObject({ differences: [], skipped: [] });
});

test("a response that continues a stored one is run again with the recorded conversation", async () => {
  const app = createRecordedApp({ engine: scriptedEngine([FINAL, FINAL]) });
  const first = await app.post("/v1/responses", { model: MODEL, input: "Hi" });
  const { id } = z.object({ id: z.string() }).parse(await first.json());
  const body = { model: MODEL, input: "And?", previous_response_id: id };
  await (await app.post("/v1/responses", body)).text();
  const { differences, same, skipped } = await compareAgain(app);
  // The answer names the response it continues.
  expect(differences.map(({ where }) => where)).toEqual(["answer 2"]);
  expect(same).toContain("prompt");
  expect(skipped).toMatchObject([expect.stringContaining("conversation")]);
});

test("a turn in which the gateway ran a tool has its result, and is run again without the tool", async () => {
  const engine = scriptedEngine([
    "<|channel|>analysis<|message|>I search.<|end|><|start|>assistant" +
      '<|channel|>analysis to=browser.search<|message|>{"query":"rate"}<|call|>',
    "<|channel|>final<|message|>It is 0.5%.<|return|>",
  ]);
  const app = createRecordedApp({ engine, toolbox: { browser: BROWSER } });
  const body = { model: MODEL, input: "What is the rate?", tools: [{ type: "web_search" }] };
  await (await app.post("/v1/responses", body)).text();
  const [record] = await app.records();
  expect(record?.decisions.map(({ type }) => type)).toContain("run-tool");
  expect(record?.parts.map(({ kind }) => kind)).toEqual([
    "reasoning",
    "builtin-call",
    "tool-result",
    "content",
  ]);
  const result = record?.parts[2];
  expect(result).toMatchObject({ name: "browser.search", failed: false, sent: true });
  expect(result?.ended).toBeGreaterThanOrEqual(result?.started ?? Infinity);
  expect(await compareAgain(app)).toMatchObject({ differences: [], skipped: [] });
  // A record of an earlier version has only the part of a result that the model read.
  const parts = record?.parts.map((part) => ({ ...part, shown: undefined }));
  expect(await replay({ ...record, parts })).toMatchObject({
    differences: [],
    skipped: [expect.stringContaining("it shows what tools found")],
  });
});

const SEARCHED =
  "<|channel|>analysis<|message|>I search.<|end|><|start|>assistant" +
  '<|channel|>analysis to=browser.search<|message|>{"query":"rate"}<|call|>';
const OPENED = '<|channel|>analysis to=browser.open<|message|>{"id":0}<|call|>';
const LOST = '<|channel|>analysis to=browser.open<|message|>{"id":99}<|call|>';
const CITED = "<|channel|>final<|message|>It is 0.5%【1†L0-L2】, it was 0.25%【7†L1】.<|return|>";
const CODED = "<|channel|>analysis to=python code<|message|>print(6 * 7)<|call|>";

/** Turns with tools: the model's output, the API, the request. */
const WITH_TOOLS: readonly (readonly [
  name: string,
  scripts: readonly string[],
  path: string,
  body: object,
])[] = [
  [
    "a response with a search, a page, a page that is not there and citations",
    [SEARCHED, OPENED, LOST, CITED],
    "/v1/responses",
    { input: "The rate?", tools: [{ type: "web_search" }], include: ["web_search_call.results"] },
  ],
  [
    "a streamed response with them",
    [SEARCHED, OPENED, CITED],
    "/v1/responses",
    { input: "The rate?", tools: [{ type: "web_search" }], stream: true },
  ],
  [
    "a response with code",
    [CODED, "<|channel|>final<|message|>42<|return|>"],
    "/v1/responses",
    {
      input: "6 times 7?",
      tools: [{ type: "code_interpreter", container: { type: "auto" } }],
      include: ["code_interpreter_call.outputs"],
    },
  ],
  [
    "a chat completion with citations",
    [SEARCHED, OPENED, CITED],
    "/v1/chat/completions",
    { ...HELLO, tools: [{ type: "browser_search" }], stream: true },
  ],
  [
    "a message with a search and code",
    [SEARCHED, CODED, CITED],
    "/v1/messages",
    {
      max_tokens: 500,
      messages: HELLO.messages,
      tools: [
        { type: "web_search_20250305", name: "web_search" },
        { type: "code_execution_20250825", name: "code_execution" },
      ],
    },
  ],
  [
    "a response whose limit of calls is reached",
    [SEARCHED, OPENED, CITED],
    "/v1/responses",
    { input: "The rate?", tools: [{ type: "web_search" }], max_tool_calls: 1 },
  ],
];

test.each(WITH_TOOLS.map(([name, scripts, path, body]) => ({ name, scripts, path, body })))(
  "$name is compared whole, without running a tool",
  async ({ scripts, path, body }) => {
    const python = fakeTool({ answer: () => "42\n" });
    const app = createRecordedApp({
      engine: scriptedEngine(scripts),
      toolbox: { browser: BROWSER, python: () => python },
      settings: { citations: "annotate" },
    });
    await (await app.post(path, { model: MODEL, ...body })).text();
    const [record] = await app.records();
    expect(record?.parts.map(({ kind }) => kind)).toContain("tool-result");
    const ran = python.calls.length;
    const comparison = await compareAgain(app);
    expect(comparison).toMatchObject({ differences: [], skipped: [] });
    expect(comparison.same).toContain("answer");
    expect(python.calls.length).toBe(ran);
  },
);

test("results of tools are content: a record without content has none", async () => {
  const app = createRecordedApp({
    engine: scriptedEngine([SEARCHED, OPENED, CITED]),
    toolbox: { browser: BROWSER },
    recorder: { keepsContent: false },
  });
  const body = { model: MODEL, input: "The rate?", tools: [{ type: "web_search" }] };
  await (await app.post("/v1/responses", body)).text();
  const [record] = await app.records();
  expect(record?.cited).toHaveLength(1);
  expect(JSON.stringify(record)).not.toMatch(/Policy rate|rates\.md|January/);
});

test("differences are reported with their place", async () => {
  const app = createRecordedApp({ engine: scriptedEngine([FINAL]) });
  await (await app.post("/v1/chat/completions", HELLO)).text();
  const record = await lastRecord(app);
  const [call] = record.calls;
  if (call === undefined) throw new Error("no call");
  const calls = [{ ...call, reads: call.reads.slice(1), used: call.used - 1 }];
  const { differences, same } = await replay({ ...record, calls });
  expect(differences.map(({ where }) => where)).toContain("recovery");
  expect(same).toContain("prompt");
});

test("a record without content is refused with an explanation", async () => {
  const engine = scriptedEngine([FINAL]);
  const app = createRecordedApp({ engine, recorder: { keepsContent: false } });
  await (await app.post("/v1/chat/completions", HELLO)).text();
  await expect(compareAgain(app)).rejects.toThrow(
    "The record was made with recordContent off: without texts and token ids it cannot be replayed.",
  );
});

test.each<[string, (record: TurnRecord) => object, string]>([
  [
    "of a refused request",
    (record) => ({ ...record, settings: null }),
    "The record has no turn: its request was refused.",
  ],
  [
    "of a turn that the gateway made itself",
    (record) => ({ ...record, request: null }),
    "The record has no request: its turn was made by the gateway itself.",
  ],
  [
    "of another path",
    (record) => ({ ...record, request: { ...record.request, path: "/v1/models" } }),
    "There is no API at /v1/models that makes turns.",
  ],
  [
    "of another form",
    () => ({ version: 1, calls: [] }),
    "The record cannot be read: gateway: Invalid input: expected string, received undefined.",
  ],
  [
    "of a newer version",
    () => ({ version: 2, calls: [] }),
    "The record has version 2; this harmony-gateway reads up to 1. Use a newer one.",
  ],
])("a record %s is refused with an explanation", async (_, change, message) => {
  const app = createRecordedApp({ engine: scriptedEngine([FINAL]) });
  await (await app.post("/v1/chat/completions", HELLO)).text();
  expect(await runOn("replay", change(await lastRecord(app)))).toEqual({
    printed: "",
    errors: message,
    code: 2,
  });
});

test("the prompt of a refused request is not shown, with an explanation", async () => {
  const app = createRecordedApp({ engine: scriptedEngine([]) });
  await app.post("/v1/chat/completions", { ...HELLO, messages: 1 });
  expect((await runOn("render", await lastRecord(app))).errors).toBe(
    "The record has no prompt: its request was refused.",
  );
});

test("a record whose engine calls are fewer, or were cut, fails where they end", async () => {
  const app = createRecordedApp({ engine: scriptedEngine([FINAL]) });
  await (await app.post("/v1/chat/completions", HELLO)).text();
  const record = await lastRecord(app);
  const endOf = async (calls: TurnRecord["calls"]) => {
    const { differences } = await replay({ ...record, calls });
    return differences.find(({ where }) => where === "end")?.is;
  };
  expect(await endOf([])).toContain("the record has no further engine call (closed)");
  const cut = record.calls.map((call) => ({ ...call, reads: [], finish: null }));
  expect(await endOf(cut)).toContain("the recorded call was cut here by the gateway (closed)");
});

test("the command prints the differences and ends with 1, or with 0 when there are none", async () => {
  const app = createRecordedApp({ engine: scriptedEngine(RETRIED) });
  await (await app.post("/v1/chat/completions", REQUIRED)).text();
  const record = await lastRecord(app);
  const equal = await runOn("replay", record);
  expect(equal.printed).toMatch(/Nothing differs\.$/);
  expect(equal.code).toBe(0);

  const [first, ...rest] = record.parts;
  const differs = await runOn("replay", {
    ...record,
    parts: [{ ...first, text: "Two." }, ...rest],
  });
  expect(differs.code).toBe(1);
  expect(differs.printed).toContain(
    "part 1\n  was reasoning (opened by the gateway): Two.\n  is  reasoning",
  );

  for (const engine of [["--engine", "demo"], ["--engine=demo"]]) {
    const real = await runOn("replay", record, ...engine);
    expect(real.printed).toContain("run again on demo");
    expect(real.code).toBe(1);
  }
});

test("a fixture contains no times, ids or names of the sender, and can be run again", async () => {
  const app = createRecordedApp({ engine: scriptedEngine(RETRIED) });
  await (await app.post("/v1/chat/completions", REQUIRED, { "user-agent": "spy/1" })).text();
  const { printed } = await runOn("replay", await lastRecord(app), "--fixture");
  expect(printed).not.toContain("spy/1");
  expect(await runOn("replay", printed)).toMatchObject({ code: 0 });
});

const FIXTURES = new URL("../fixtures/turns/", import.meta.url);

test.each(readdirSync(FIXTURES).filter((name) => name.endsWith(".json")))(
  "the recorded turn %s gives the same as when it was recorded",
  async (name) => {
    const { printed, errors } = await runCommand([
      "replay",
      fileURLToPath(new URL(name, FIXTURES)),
    ]);
    expect(errors).toBe("");
    expect(printed).toMatch(/Nothing differs\.$/);
  },
);
