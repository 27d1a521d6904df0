import { hash } from "node:crypto";
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from "node:fs";
import { execFileSync } from "node:child_process";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { describe, expect, onTestFinished, test } from "vitest";
import { EngineError, SettingsError } from "../../../src/index.ts";
import { createAuditFile } from "../../../src/node/telemetry/audit-file.ts";
import { eventually } from "../../helpers/eventually.ts";
import { startTestGateway, testLog } from "../../helpers/gateway.ts";
import { type Script, scriptedEngine } from "../../helpers/scripted-engine.ts";
import { pngOf } from "../../helpers/png.ts";
import { startVisionServer } from "../../helpers/vision-server.ts";

const MODEL = "openai/gpt-oss-20b";
const ANSWER =
  "<|channel|>analysis<|message|>SECRET thought.<|end|><|start|>assistant<|channel|>final<|message|>SECRET answer.<|return|>";
const HELLO = [{ role: "user" as const, content: "SECRET question" }];

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "audit-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

const readLines = (path: string): Record<string, unknown>[] =>
  readFileSync(path, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));

async function start(scripts: readonly Script[] | (() => Script), settings: object = {}) {
  const path = join(temporaryFolder(), "audit.jsonl");
  const keys = [{ name: "ann", sha256: hash("sha256", "key-a") }];
  const presets = { review: { model: MODEL, effort: "high" } };
  const gateway = await startTestGateway({
    engine: scriptedEngine(scripts),
    settings: { auditFile: path, keys, presets, metrics: "open", ...settings },
  });
  onTestFinished(() => gateway.close());
  const options = { apiKey: "key-a", maxRetries: 0 };
  return {
    path,
    gateway,
    openai: new OpenAI({ baseURL: gateway.baseURL, ...options }),
    anthropic: new Anthropic({ baseURL: gateway.origin, ...options }),
    /** Waits for this many lines. */
    lines: (count: number) =>
      eventually(() => {
        const found = readLines(path);
        expect(found).toHaveLength(count);
        return found;
      }),
  };
}

describe("a line", () => {
  test("has the key, the model and the usage of the reply, and nothing of the content", async () => {
    const { openai, anthropic, lines, path } = await start(() => ANSWER);
    const chat = await openai.chat.completions.create({ model: "review", messages: HELLO });
    const stream = anthropic.messages.stream({ model: MODEL, messages: HELLO, max_tokens: 99 });
    const message = await stream.finalMessage();
    const [first, second] = await lines(2);
    expect(first).toEqual({
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      id: expect.stringMatching(/^req_/),
      key: "ann",
      client: "openai-js",
      method: "POST",
      route: "/v1/chat/completions",
      status: 200,
      error: null,
      model: MODEL,
      preset: "review",
      effort: "high",
      reasoning: null,
      finish: "stop",
      turns: 1,
      promptTokens: chat.usage?.prompt_tokens,
      cachedTokens: 0,
      completionTokens: chat.usage?.completion_tokens,
      reasoningTokens: chat.usage?.completion_tokens_details?.reasoning_tokens,
      toolCalls: 0,
      imagesDescribed: 0,
      imagesCached: 0,
      imagesFailed: 0,
      visionTokens: 0,
      firstTokenMs: expect.any(Number),
      ms: expect.any(Number),
    });
    expect(second).toMatchObject({
      route: "/v1/messages",
      status: 200,
      client: "anthropic-js",
      preset: null,
      finish: "stop",
      completionTokens: message.usage.output_tokens,
    });
    expect(readFileSync(path, "utf8")).not.toContain("SECRET");
  });

  test("counts images, and the vision model's tokens beside those of the turn", async () => {
    const vision = await startVisionServer();
    const { openai, lines } = await start(() => ANSWER, vision.settings);
    const url = `data:image/png;base64,${pngOf(2, 2)}`;
    const content = [
      { type: "image_url" as const, image_url: { url } },
      { type: "image_url" as const, image_url: { url: "data:image/png;base64,AAAA" } },
    ];
    const messages = [{ role: "user" as const, content }];
    const chat = await openai.chat.completions.create({ model: MODEL, messages });
    const [line] = await lines(1);
    expect(line).toMatchObject({
      promptTokens: chat.usage?.prompt_tokens,
      imagesDescribed: 1,
      imagesCached: 0,
      imagesFailed: 1,
      visionTokens: 1020,
    });
  });

  test("is one for all choices of a request", async () => {
    const { openai, lines } = await start(() => ANSWER);
    const chat = await openai.chat.completions.create({ model: MODEL, messages: HELLO, n: 3 });
    expect(await lines(1)).toMatchObject([
      { turns: 3, completionTokens: chat.usage?.completion_tokens },
    ]);
  });

  test("is written for refused and for failed requests", async () => {
    const { openai, gateway, lines } = await start([
      { refuse: new EngineError("overloaded", "no room") },
      { write: "<|channel|>final<|message|>Hel", fail: new EngineError("closed", "gone") },
    ]);
    const ask = (body: object) =>
      openai.chat.completions.create({ model: MODEL, messages: HELLO, ...body });
    await expect(fetch(`${gateway.baseURL}/models`)).resolves.toMatchObject({ status: 401 });
    await lines(1);
    await expect(ask({ model: "gpt-4o" })).rejects.toMatchObject({ status: 400 });
    await lines(2);
    await expect(ask({})).rejects.toMatchObject({ status: 503 });
    await lines(3);
    await ask({}).catch(() => undefined);
    expect(await lines(4)).toMatchObject([
      { key: null, status: 401, error: "authentication", model: null, turns: 0, finish: null },
      { key: "ann", status: 400, error: "model_not_found", turns: 0 },
      { key: "ann", status: 503, finish: "failed", turns: 1 },
      { key: "ann", finish: "failed", error: "provider_unavailable", turns: 1 },
    ]);
  });

  test("is written of a stream that the client leaves", async () => {
    const { openai, lines } = await start([
      { write: "<|channel|>final<|message|>Hel", hang: true },
    ]);
    const body = { model: MODEL, messages: HELLO, stream: true as const };
    const stream = await openai.chat.completions.create(body);
    for await (const chunk of stream) if (chunk.choices[0]?.delta.content) break;
    stream.controller.abort();
    expect(await lines(1)).toMatchObject([{ key: "ann", status: 200, finish: "cancelled" }]);
  });

  test("is written of each of two requests that have chosen the same id", async () => {
    const { openai, lines } = await start(() => ANSWER);
    const headers = { "x-request-id": "same" };
    await Promise.all(
      [1, 2].map(() =>
        openai.chat.completions.create({ model: MODEL, messages: HELLO }, { headers }),
      ),
    );
    const written = await lines(2);
    expect(written.map(({ id, status }) => [id, status])).toEqual([
      ["same", 200],
      ["same", 200],
    ]);
    expect(written.reduce((sum, { turns }) => sum + Number(turns), 0)).toBe(2);
  });

  test("is written of each message of a WebSocket, and of the connection", async () => {
    const { gateway, lines } = await start(() => ANSWER, { keys: [] });
    const socket = new WebSocket(`${gateway.baseURL.replace("http", "ws")}/responses`);
    onTestFinished(() => socket.close());
    const message = JSON.stringify({ type: "response.create", model: MODEL, input: "Hi" });
    socket.addEventListener("open", () => socket.send(message));
    const [connection, response] = await lines(2);
    expect(connection).toMatchObject({ key: "anonymous", route: "/v1/responses", turns: 0 });
    expect(response).toMatchObject({
      key: "anonymous",
      method: "WEBSOCKET",
      status: 200,
      finish: "stop",
      turns: 1,
    });
  });

  test("is not written of probes and scrapes", async () => {
    const { gateway, openai, lines } = await start(() => ANSWER);
    for (const path of ["/health", "/ready", "/metrics"]) await fetch(gateway.origin + path);
    await openai.models.list();
    expect(await lines(1)).toMatchObject([{ route: "/v1/models", turns: 0 }]);
  });
});

describe("a file", () => {
  test("is its owner's only, and may be renamed while it is written", async () => {
    const { openai, path, lines } = await start(() => ANSWER);
    await openai.models.list();
    await lines(1);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    renameSync(path, `${path}.1`);
    await openai.models.list();
    await lines(1);
    expect(readLines(`${path}.1`)).toHaveLength(1);
  });

  test("is where the inspector reads the uses of keys", async () => {
    const token = "token-of-the-operator";
    const settings = { inspect: true, inspectKey: token };
    const { openai, gateway, lines } = await start(() => ANSWER, settings);
    await openai.models.list();
    await lines(1);
    const headers = { "x-inspect-token": token };
    const response = await fetch(`${gateway.origin}/inspect/api/keys`, { headers });
    expect(await response.json()).toMatchObject({ uses: { keys: [{ key: "ann", requests: 1 }] } });
  });

  test("on a full disk costs lines only, which are counted", async () => {
    const folder = temporaryFolder();
    const path = join(folder, "full");
    symlinkSync("/dev/full", path);
    const { openai, gateway } = await start(() => ANSWER, { auditFile: path });
    const chat = await openai.chat.completions.create({ model: MODEL, messages: HELLO });
    expect(chat.choices[0]?.message.content).toBe("SECRET answer.");
    await eventually(async () =>
      expect(await gateway.counter("audit_lines_dropped_total")).toBeGreaterThan(0),
    );
    expect(gateway.logged.filter(({ event }) => event === "audit lines dropped")).toMatchObject([
      { level: "warn", message: "ENOSPC: no space left on device, write" },
    ]);
  });

  test("that was cut within a line goes on with the next one", async () => {
    let text = "";
    let isFull = true;
    const logged: Record<string, unknown>[] = [];
    const file = createAuditFile(async (more) => {
      if (!isFull) return void (text += more);
      text += more.slice(0, 3);
      isFull = false;
      throw new Error("full");
    }, testLog(logged));
    file.write('{"a":1}\n');
    await file.close();
    file.write('{"a":2}\n');
    file.write('{"a":3}\n');
    await file.close();
    expect(text).toBe('{"a\n{"a":2}\n{"a":3}\n');
    expect(file.dropped()).toBe(1);
    expect(logged).toMatchObject([
      { event: "audit lines dropped", message: "full" },
      { event: "audit written again", dropped: 1 },
    ]);
  });

  test("that takes nothing any more holds a bounded number of lines", async () => {
    const written: string[] = [];
    const file = createAuditFile(async (text) => {
      written.push(text);
      return new Promise<void>(() => {});
    }, testLog());
    const line = `${"x".repeat(1023)}\n`;
    for (let count = 0; count < 10_000; count++) file.write(line);
    expect(written).toEqual([line]);
    // 4,194,304 characters wait, which are 4096 lines.
    expect(file.dropped()).toBe(10_000 - 1 - 4096);
  });

  test("that cannot be written at the start is an error that names it", async () => {
    const folder = temporaryFolder();
    const fifo = join(folder, "fifo");
    execFileSync("mkfifo", [fifo]);
    mkdirSync(join(folder, "folder"));
    const problemOf = async (path: string) => {
      const error: unknown = await startTestGateway({ settings: { auditFile: path } }).catch(
        (reason: unknown) => reason,
      );
      return error instanceof SettingsError ? error.problems : error;
    };
    for (const path of [fifo, join(folder, "folder")]) {
      expect(await problemOf(path)).toEqual([
        `auditFile ${path}: cannot be written: it is not a file.`,
      ]);
    }
    const missing = join(folder, "missing", "audit.jsonl");
    expect(await problemOf(missing)).toEqual([
      `auditFile ${missing}: there is no folder ${dirname(missing)}.`,
    ]);
  });
});
