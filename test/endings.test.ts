/** The log, the metrics, the audit and the record state the same end of a request, in each API and each form. */
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { WebSocket } from "ws";
import * as z from "zod";
import { EngineError } from "../src/index.ts";
import { createPool, type PoolOptions } from "../src/engines/pool.ts";
import { eventually } from "./helpers/eventually.ts";
import { startTestGateway } from "./helpers/gateway.ts";
import { pngOf } from "./helpers/png.ts";
import { type Script, scriptedEngine } from "./helpers/scripted-engine.ts";
import { sendDescription, startVisionServer } from "./helpers/vision-server.ts";

/**
 * Statuses of a plain answer, of a stream and of a message on a WebSocket, and the outcome of the turn in the log, the audit and the
 * record. A `server` error is a defect of the gateway, which the log has at the level `error`.
 */
const TABLE = `
  ending                      | plain | stream | socket | turn      | error                   | record
  complete                    | 200   | 200    | 200    | stop      |                         | stop
  left in the queue           | 499   | 499    | 499    | cancelled |                         | cancelled
  left in the queue, late     |       | 200    | 499    | cancelled |                         | cancelled
  left with an image          | 499   | 499    | 499    |           |                         | cancelled
  left with an image, late    |       | 200    | 499    |           |                         | cancelled
  left before the first token | 499   | 200    | 200    | cancelled |                         | cancelled
  left behind some            | 499   | 200    | 200    | cancelled |                         | cancelled
  refused                     | 400   | 400    | 400    |           | invalid_request         | rejected
  refused, late               |       | 200    | 400    |           | invalid_request         | rejected
  engine refuses              | 502   | 502    | 502    | failed    | provider_unavailable    | failed
  engine refuses, late        |       | 200    | 502    | failed    | provider_unavailable    | failed
  engine fails behind some    | 502   | 200    | 200    | failed    | provider_unavailable    | failed
  defect                      | 500   | 500    | 500    | failed    | server                  | failed
  defect behind some          | 500   | 200    | 200    | failed    | server                  | failed
  prompt too long             | 400   | 400    | 400    | failed    | context_length_exceeded | failed
  queue full                  | 503   | 503    | 503    | failed    | provider_overloaded     | failed
  queue too slow              | 503   | 503    | 503    | failed    | provider_overloaded     | failed
  queue too slow, late        |       | 200    | 200    | failed    | provider_overloaded     | failed
  key at its limit            | 429   | 429    | 429    | rejected  | rate_limit_exceeded     | rejected
  key at its limit behind some| 429   | 200    | 200    | rejected  | rate_limit_exceeded     | rejected
`;

const HANG: Script = { write: "", hang: true };
const SOME = "<|channel|>final<|message|>Hello there";
const LATE = { keepAliveMs: 40 };

interface Setup {
  /** Absent: the engine's only slot is taken. */
  readonly script?: Script;
  readonly pool?: PoolOptions;
  readonly settings?: object;
  /** The point at which the client leaves. */
  readonly leaves?: "queued" | "image" | "begun";
  readonly hasImage?: true;
  readonly isRefused?: true;
}

const refuse = (kind: "server-error" | "context-length") => ({
  refuse: new EngineError(kind, "no"),
});

const SETUPS: Record<string, Setup> = {
  complete: { script: `${SOME}.<|return|>` },
  "left in the queue": { leaves: "queued" },
  "left in the queue, late": { leaves: "queued", settings: LATE },
  "left with an image": { leaves: "image", hasImage: true, script: HANG },
  "left with an image, late": { leaves: "image", hasImage: true, script: HANG, settings: LATE },
  "left before the first token": { leaves: "begun", script: HANG },
  "left behind some": { leaves: "begun", script: { write: SOME, hang: true } },
  refused: { isRefused: true, script: HANG },
  "refused, late": { isRefused: true, hasImage: true, script: HANG, settings: LATE },
  "engine refuses": { script: refuse("server-error") },
  "engine refuses, late": { script: refuse("server-error"), hasImage: true, settings: LATE },
  "engine fails behind some": { script: { write: SOME, fail: new EngineError("closed", "gone") } },
  defect: { script: { refuse: new TypeError("words") } },
  "defect behind some": { script: { write: SOME, fail: new TypeError("words") } },
  "prompt too long": { script: refuse("context-length") },
  "queue full": { pool: { maxQueued: 0 } },
  "queue too slow": { pool: { queueTimeoutMs: 1 } },
  "queue too slow, late": { pool: { queueTimeoutMs: 200 }, settings: LATE },
  "key at its limit": { pool: { tenants: [{ name: "anonymous", maxQueued: 0 }] } },
  "key at its limit behind some": {
    script: { write: SOME, fail: new EngineError("tenant-limit", "Nothing was read.") },
  },
};

const MODEL = "openai/gpt-oss-20b";
const TOKEN = "token-of-the-test-of-endings";

/** An image and a choice of a tool, as each API has them. */
const APIS = {
  "chat/completions": (url: string) => ({
    image: { type: "image_url", image_url: { url } },
    choice: { type: "function", function: { name: "none" } },
  }),
  messages: (url: string) => ({
    image: { type: "image", source: { type: "url", url } },
    choice: { type: "tool", name: "none" },
  }),
  responses: (url: string) => ({
    image: { type: "input_image", image_url: url },
    choice: { type: "function", name: "none" },
  }),
};
type Path = keyof typeof APIS;
const PATHS: readonly Path[] = ["chat/completions", "messages", "responses"];

const ROWS = TABLE.trim()
  .split("\n")
  .slice(1)
  .map((line) => line.split("|").map((cell) => cell.trim() || null))
  .map(([name, plain, stream, socket, turn, error, record]) => {
    const setup = SETUPS[name ?? ""];
    if (setup === undefined) throw new Error(`no set-up: ${name}`);
    return {
      name,
      setup,
      statuses: { plain, stream },
      socket: Number(socket),
      turn,
      error,
      record,
    };
  });

describe.each(ROWS)("$name", ({ setup, statuses, socket, turn, error, record }) => {
  test.each(PATHS)("%s", async (path) => {
    const gateway = await open(setup);
    for (const [form, given] of Object.entries(statuses)) {
      if (given == null) continue;
      // Anthropic's API has its own status for a busy server.
      const status = path === "messages" && given === "503" ? 529 : Number(given);
      const leaving = new AbortController();
      const answer = gateway.post(path, form, leaving.signal);
      const ended = answer.then((response) => response.text()).catch(() => undefined);
      await gateway.reaches(status === 200 && form === "stream" ? answer : undefined);
      if (setup.leaves) leaving.abort();
      await ended;
      const audited = [{ status, finish: turn, error }];
      await eventually(async () =>
        expect(await gateway.facts(form)).toEqual({
          requests: [status],
          turns: turn === null ? [] : [turn],
          alerts: error === "server" ? ["failure"] : [],
          audited,
          records: [record],
        }),
      );
    }
    await gateway.isIdle();
  });

  test("a WebSocket", async () => {
    const gateway = await open(setup);
    const connection = await gateway.connect("socket");
    const message = { type: "response.create", ...gateway.body("responses") };
    connection.send(JSON.stringify(message));
    await gateway.reaches();
    if (setup.leaves) connection.terminate();
    await eventually(async () =>
      expect(await gateway.facts("socket-1")).toEqual({
        requests: [socket],
        turns: turn === null ? [] : [turn],
        alerts: error === "server" ? ["failure"] : [],
        audited: [{ status: socket, finish: turn, error }],
        records: [record],
      }),
    );
    await gateway.isIdle();
  });
});

test("a key's own limit is no failure of the backend, and the line of its request says why", async () => {
  const gateway = await open({
    script: { refuse: new EngineError("tenant-limit", "Your share is used up.") },
  });
  const answer = await gateway.post("chat/completions", "plain", new AbortController().signal);
  expect(answer.status).toBe(429);
  await eventually(async () =>
    expect(gateway.requestLine()).toMatchObject({ status: 429, reason: "Your share is used up." }),
  );
  expect(gateway.backend()).toMatchObject({ failed: 0 });
});

const listed = z.object({ turns: z.array(z.object({ id: z.string(), outcome: z.string() })) });
const auditLine = z.object({
  id: z.string(),
  status: z.int().nullable(),
  finish: z.string().nullable(),
  error: z.string().nullable(),
});

async function open({ script, pool, settings, leaves, hasImage, isRefused }: Setup) {
  const folder = mkdtempSync(join(tmpdir(), "endings-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const auditFile = join(folder, "audit.jsonl");
  const waiting: ServerResponse[] = [];
  const vision = await startVisionServer(() => (response) => void waiting.push(response));
  const engine = scriptedEngine(() => script ?? HANG);
  const isTaken = script === undefined;
  const backends = createPool([{ id: "b", engine, ...(isTaken && { maxConcurrent: 1 }) }], pool);
  const inspector = { inspect: true, inspectKey: TOKEN };
  const gateway = await startTestGateway({
    models: [{ id: MODEL, engine: backends }],
    settings: { ...vision.settings, ...settings, ...inspector, auditFile, metrics: "open" },
  });
  onTestFinished(() => gateway.close());
  let images = 0;

  const body = (path: Path) => {
    // Each request has another image: descriptions are cached.
    const { image, choice } = APIS[path](`data:image/png;base64,${pngOf(1, ++images)}`);
    const content = hasImage ? [image] : "Hi";
    return {
      model: MODEL,
      max_tokens: 100,
      [path === "responses" ? "input" : "messages"]: [{ role: "user", content }],
      ...(isRefused && { tool_choice: choice }),
    };
  };
  const post = (path: Path, id: string, signal: AbortSignal) =>
    fetch(`${gateway.baseURL}/${path}`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-request-id": id },
      body: JSON.stringify({ ...body(path), stream: id === "stream" }),
      signal,
    });
  const taking = new AbortController();
  if (isTaken) void post("responses", "taking", taking.signal).catch(() => undefined);
  await expect.poll(() => engine.open).toBe(isTaken ? 1 : 0);

  return {
    body,
    post,
    async connect(id: string): Promise<WebSocket> {
      const url = `${gateway.baseURL.replace("http", "ws")}/responses`;
      const socket = new WebSocket(url, { headers: { "x-request-id": id } });
      onTestFinished(() => socket.close());
      await once(socket, "open");
      return socket;
    },
    /** The point where the client leaves, and the head of the answer if there is one. Images are described unless the client leaves. */
    async reaches(head?: Promise<unknown>): Promise<void> {
      if (leaves === "queued") await expect.poll(() => backends.state.queued).toBe(1);
      if (leaves === "begun") await expect.poll(() => engine.open).toBe(1);
      if (hasImage) await expect.poll(() => waiting.length).toBe(1);
      await head;
      const response = waiting.pop();
      if (response !== undefined && !leaves) sendDescription(response, "A cat.");
    },
    requestLine: () => gateway.logged.find(({ event }) => event === "request"),
    backend: () => backends.state.backends[0],
    async facts(id: string) {
      const own = gateway.logged.filter((line) => line["id"] === id);
      const headers = { "x-inspect-token": TOKEN };
      const turns = await fetch(`${gateway.origin}/inspect/api/turns`, { headers });
      const recorded = listed.parse(await turns.json()).turns;
      const audited = readFileSync(auditFile, "utf8").split("\n").filter(Boolean);
      return {
        requests: own.filter(({ event }) => event === "request").map(({ status }) => status),
        turns: own.filter(({ event }) => event === "turn").map(({ finish }) => finish),
        alerts: own.filter(({ level }) => level === "error").map(({ event }) => event),
        audited: audited
          .map((line) => auditLine.parse(JSON.parse(line)))
          .flatMap(({ id: each, ...line }) => (each === id ? [line] : [])),
        records: recorded.flatMap((each) => (each.id === id ? [each.outcome] : [])),
      };
    },
    /** Resolves when all slots and all memory have been returned. */
    async isIdle(): Promise<void> {
      taking.abort();
      await eventually(async () => {
        expect(backends.state).toMatchObject({ queued: 0, backends: [{ inFlight: 0 }] });
        expect(backends.state.tenants.filter((each) => each.inFlight + each.queued > 0)).toEqual(
          [],
        );
        expect(await gateway.counter("turns_in_flight")).toBe(0);
      });
    },
  };
}
