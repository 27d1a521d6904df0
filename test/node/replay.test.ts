import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import * as z from "zod";
import { EngineError } from "../../src/index.ts";
import { main } from "../../src/node/cli/main.ts";
import { compareTurns } from "../../src/node/replay/compare.ts";
import { toFixture } from "../../src/node/cli/replay.ts";
import { readRecord } from "../../src/node/replay/read-record.ts";
import { createRecordedEngine } from "../../src/node/replay/recorded-engine.ts";
import { runAgain } from "../../src/node/replay/run-again.ts";
import { toRecordedPrompt } from "../../src/node/cli/show-record.ts";
import type { TurnRecord } from "../../src/telemetry/record/schema.ts";
import { BROWSER } from "../helpers/browsing-app.ts";
import { fakeTool } from "../helpers/fake-tool.ts";
import { createRecordedApp, type RecordedApp } from "../helpers/recorded-app.ts";
import { type Script, type ScriptedOptions, scriptedEngine } from "../helpers/scripted-engine.ts";
import { QUIET_IO, replay } from "../helpers/command-io.ts";
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

/** As it would be read from a file. */
function reread(record: TurnRecord | undefined): TurnRecord {
  const read = readRecord(JSON.stringify(record));
  if (read === undefined) throw new Error("no record was made");
  return read;
}

async function compareAgain(app: RecordedApp) {
  return replay((await app.records()).at(-1));
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

test("a file can set nothing of the gateway but how its turn was steered", async () => {
  const app = createRecordedApp({ engine: scriptedEngine([FINAL]) });
  await (await app.post("/v1/chat/completions", HELLO)).text();
  const record = reread((await app.records()).at(-1));
  if (record.settings === null) throw new Error("no turn was made");
  const steering = { ...record.settings.steering, repetitionGuard: 7, maxBodyBytes: 1 };
  const hostile = reread({ ...record, settings: { ...record.settings, steering } });
  const engine = createRecordedEngine(hostile);
  const { record: again } = await runAgain(hostile, engine);
  expect(again.settings?.steering).toEqual(record.settings.steering);
  expect(
    compareTurns(record, await runAgain(hostile, createRecordedEngine(hostile))),
  ).toMatchObject({ differences: [] });
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
  // A record of an earlier version has no more of a result than what the model read.
  const older = reread({
    ...reread(record),
    parts: reread(record).parts.map((part) => ({ ...part, shown: undefined })),
  });
  const again = compareTurns(older, await runAgain(older, createRecordedEngine(older)));
  expect(again).toMatchObject({
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

/** A turn with tools: what the model writes, the API, the request. */
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

test("what tools found is content: without content it is not in a record", async () => {
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
  const record = reread((await app.records())[0]);
  const [call] = record.calls;
  if (call === undefined) throw new Error("no call");
  const other = {
    ...record,
    calls: [{ ...call, reads: call.reads.slice(1), used: call.used - 1 }],
  };
  const again = compareTurns(record, await runAgain(record, createRecordedEngine(other)));
  expect(again.differences.map(({ where }) => where)).toContain("recovery");
  expect(again.same).toContain("prompt");
});

test("a record without content is refused with an explanation", async () => {
  const engine = scriptedEngine([FINAL]);
  const app = createRecordedApp({ engine, recorder: { keepsContent: false } });
  await (await app.post("/v1/chat/completions", HELLO)).text();
  await expect(compareAgain(app)).rejects.toThrow(
    "The record was made with recordContent off: without texts and token ids it cannot be replayed.",
  );
});

test.each<[string, (record: TurnRecord) => unknown, string]>([
  [
    "of a refused request",
    (record) => createRecordedEngine({ ...record, settings: null }),
    "The record has no turn: its request was refused.",
  ],
  [
    "of a turn that the gateway made itself",
    (record) => runAgain({ ...record, request: null }, createRecordedEngine(record)),
    "The record has no request: its turn was made by the gateway itself.",
  ],
  [
    "of another path",
    (record) =>
      runAgain(
        { ...record, request: record.request && { ...record.request, path: "/v1/models" } },
        createRecordedEngine(record),
      ),
    "There is no API at /v1/models that makes turns.",
  ],
  [
    "without a prompt",
    (record) => toRecordedPrompt({ ...record, prompt: null }),
    "The record has no prompt: its request was refused.",
  ],
  [
    "of another form",
    () => readRecord('{"version":1,"calls":[]}'),
    "The record cannot be read: gateway: Invalid input: expected string, received undefined.",
  ],
])("a record %s is refused with an explanation", async (_, read, message) => {
  const app = createRecordedApp({ engine: scriptedEngine([FINAL]) });
  await (await app.post("/v1/chat/completions", HELLO)).text();
  const record = reread((await app.records()).at(-1));
  await expect(async () => read(record)).rejects.toThrow(message);
});

test("a record whose engine calls are fewer, or were cut, fails where they end", async () => {
  const app = createRecordedApp({ engine: scriptedEngine([FINAL]) });
  await (await app.post("/v1/chat/completions", HELLO)).text();
  const record = reread((await app.records()).at(-1));
  const endOf = async (calls: TurnRecord["calls"]) => {
    const again = await runAgain(record, createRecordedEngine({ ...record, calls }));
    return again.record.end?.error;
  };
  expect(await endOf([])).toBe("the record has no further engine call (closed)");
  const cut = record.calls.map((call) => ({ ...call, reads: [], finish: null }));
  expect(await endOf(cut)).toBe("the recorded call was cut here by the gateway (closed)");
});

test("a record of a newer version is refused with an explanation", () => {
  expect(() => readRecord('{"version":2,"calls":[]}')).toThrow(
    "The record has version 2; this harmony-gateway reads up to 1. Use a newer one.",
  );
});

async function runCommand(...args: string[]) {
  const printed: string[] = [];
  let exitCode = 0;
  await main(args, {
    ...QUIET_IO,
    print: (text) => printed.push(text),
    printError: (text) => printed.push(text),
    fail: (code) => (exitCode = code),
  });
  return { text: printed.join("\n"), exitCode };
}

test("the command prints what differs and ends with 1, or with 0 when nothing does", async () => {
  const app = createRecordedApp({ engine: scriptedEngine(RETRIED) });
  await (await app.post("/v1/chat/completions", REQUIRED)).text();
  const record = reread((await app.records())[0]);
  const folder = mkdtempSync(join(tmpdir(), "replay-"));
  const same = join(folder, "same.json");
  writeFileSync(same, JSON.stringify(record));
  const equal = await runCommand("replay", same);
  expect(equal.text).toMatch(/Nothing differs\.$/);
  expect(equal.exitCode).toBe(0);

  const changed = join(folder, "changed.json");
  const [first, ...rest] = record.parts;
  writeFileSync(
    changed,
    JSON.stringify({ ...record, parts: [{ ...first, text: "Two." }, ...rest] }),
  );
  const differs = await runCommand("replay", changed);
  expect(differs.exitCode).toBe(1);
  expect(differs.text).toContain(
    "part 1\n  was reasoning (opened by the gateway): Two.\n  is  reasoning",
  );

  const real = await runCommand("replay", same, "--engine", "demo");
  expect(real.text).toContain("run again on demo");
  expect(real.exitCode).toBe(1);

  const none = await runCommand("replay");
  expect(none).toMatchObject({ exitCode: 2, text: expect.stringContaining("name one file") });
});

test("a fixture contains no times, ids or names of the sender, and can be run again", async () => {
  const app = createRecordedApp({ engine: scriptedEngine(RETRIED) });
  await (await app.post("/v1/chat/completions", REQUIRED, { "user-agent": "spy/1" })).text();
  const record = toFixture(reread((await app.records())[0]));
  expect(JSON.stringify(record)).not.toContain("spy/1");
  const { differences } = compareTurns(
    record,
    await runAgain(record, createRecordedEngine(record)),
  );
  expect(differences).toEqual([]);
});

const FIXTURES = new URL("../fixtures/turns/", import.meta.url);

test.each(readdirSync(FIXTURES).filter((name) => name.endsWith(".json")))(
  "the recorded turn %s gives the same as when it was recorded",
  async (name) => {
    const record = readRecord(readFileSync(new URL(name, FIXTURES), "utf8"));
    if (record === undefined) throw new Error("not a record");
    const replayed = await runAgain(record, createRecordedEngine(record));
    expect(compareTurns(record, replayed).differences).toEqual([]);
  },
);
