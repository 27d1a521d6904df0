import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import * as z from "zod";
import { startFakeUpstream } from "./helpers/fake-upstream.ts";
import { createSimulatedD1 } from "./helpers/simulated-d1.ts";
import { createSimulatedKv } from "./helpers/simulated-kv.ts";
import { spelledIds } from "./helpers/spelled.ts";
import { toFrame } from "./helpers/vllm-server.ts";

const context = { waitUntil: () => {} };

const LogLine = z.looseObject({ event: z.string(), message: z.string().optional() });

let isolates = 0;

/** A new isolate: the module keeps its application, so each isolate imports the module under another query. */
async function startIsolate() {
  const path = `../src/worker.ts?isolate=${++isolates}`;
  const module: typeof import("../src/worker.ts") = await import(path);
  return module.default;
}

async function ask(env: Record<string, unknown>, path = "/v1/models"): Promise<Response> {
  const worker = await startIsolate();
  return worker.fetch(new Request(`https://gateway.example${path}`), env, context);
}

const logged = vi.spyOn(console, "error").mockImplementation(() => {});
const lines = vi.spyOn(console, "log").mockImplementation(() => {});

beforeEach(() => {
  logged.mockClear();
  lines.mockClear();
});
afterEach(() => void vi.useRealTimers());

describe("settings", () => {
  test("without any, the demo engine is served", async () => {
    expect(await (await ask({})).json()).toMatchObject({ data: [{ id: "openai/gpt-oss-20b" }] });
  });

  test("they come from bindings, texts or JSON", async () => {
    const env = {
      HARMONY_GATEWAY_BACKENDS: [
        { engine: "demo", servedName: "one" },
        { engine: "demo", servedName: "two" },
      ],
      HARMONY_GATEWAY_OPEN: "true",
      SOMETHING_ELSE: {},
    };
    expect(await (await ask(env)).json()).toMatchObject({ data: [{ id: "one" }, { id: "two" }] });
  });

  test.each<[string, Record<string, unknown>, string]>([
    [
      "a wrong value",
      { HARMONY_GATEWAY_MAX_TOOLS: "many" },
      'HARMONY_GATEWAY_MAX_TOOLS: expected a whole number, 1 or more, got "many".',
    ],
    [
      "an engine for everybody",
      { HARMONY_GATEWAY_ENGINE: "vllm", HARMONY_GATEWAY_URL: "https://engine.example" },
      "keys: anyone could use the gateway without a key. Create one with `harmony-gateway key`, or set open to allow it.",
    ],
    [
      "a KV namespace that is not bound",
      { HARMONY_GATEWAY_STORE: "kv:STORE" },
      "store kv:STORE: no KV namespace is bound under STORE.",
    ],
    [
      "a D1 database that is not bound",
      { HARMONY_GATEWAY_STORE: "d1:STORE" },
      "store d1:STORE: no D1 database is bound under STORE.",
    ],
    [
      "a binding of another kind",
      { HARMONY_GATEWAY_STORE: "d1:STORE", STORE: createSimulatedKv().at("here") },
      "store d1:STORE: STORE is no D1 database, but a KV namespace; use kv:STORE.",
    ],
    [
      "the other binding of another kind",
      { HARMONY_GATEWAY_STORE: "kv:STORE", STORE: createSimulatedD1() },
      "store kv:STORE: STORE is no KV namespace, but a D1 database; use d1:STORE.",
    ],
    [
      "a binding that is no store",
      { HARMONY_GATEWAY_STORE: "d1:STORE", STORE: "text" },
      "store d1:STORE: STORE is no D1 database.",
    ],
    [
      "an audit in a file",
      { HARMONY_GATEWAY_AUDIT_FILE: "audit.jsonl" },
      "auditFile: is available on Node only. Workers have no files.",
    ],
    [
      "a store that Workers do not have",
      { HARMONY_GATEWAY_STORE: "redis://cache" },
      "store redis: is available on Node only. On Workers, use d1:BINDING or kv:BINDING.",
    ],
  ])("%s is reported to the operator, not to clients", async (_, env, problem) => {
    const response = await ask(env);
    expect(response.status).toBe(500);
    expect(await response.json()).toEqual({
      error: {
        code: "server",
        message: "The gateway's settings are invalid. Its operator finds the reasons in the log.",
        type: "server_error",
        param: null,
        metadata: { error_type: "server" },
      },
    });
    expect(logged.mock.calls).toEqual([[problem]]);
  });
});

test.each([
  ["memory", {}, ["each isolate has its own memory", "ends work 30 seconds after"]],
  [
    "KV",
    { HARMONY_GATEWAY_STORE: "kv:STORE", STORE: createSimulatedKv().at("here") },
    ["good for reasoning", "ends work 30 seconds after"],
  ],
  [
    "D1",
    { HARMONY_GATEWAY_STORE: "d1:STORE", STORE: createSimulatedD1() },
    ["ends work 30 seconds after"],
  ],
])(
  "what the platform and the store %s are good for is said once, at the start",
  async (_, env, expected) => {
    const worker = await startIsolate();
    for (let times = 0; times < 2; times++) {
      await worker.fetch(new Request("https://gateway.example/v1/models"), env, context);
    }
    const notes = lines.mock.calls
      .map(([line]) => LogLine.parse(JSON.parse(String(line))))
      .filter(({ event }) => event === "note");
    expect(notes.map(({ message }) => message)).toEqual(
      expected.map((words) => expect.stringContaining(words)),
    );
  },
);

describe("what only Node can do", () => {
  const MCP = { docs: { url: "https://mcp.example/docs" } };

  test("is named at the start, and nothing else of it is read", async () => {
    const worker = await startIsolate();
    const env = {
      HARMONY_GATEWAY_BUILTIN_TOOLS: "browser,python",
      HARMONY_GATEWAY_BROWSER_SEARCH_FOLDER: "documents",
      HARMONY_GATEWAY_MCP_SERVERS: MCP,
      HARMONY_GATEWAY_MCP_FROM_REQUESTS: "any",
      HARMONY_GATEWAY_INSPECT: "true",
      HARMONY_GATEWAY_CAPTURE: "captures",
      HARMONY_GATEWAY_METRICS_PORT: "not a port",
      HARMONY_GATEWAY_REUSE_PORT: "true",
      HARMONY_GATEWAY_MAX_TOOLS: "12",
    };
    const request = () => new Request("https://gateway.example/v1/models");
    expect((await worker.fetch(request(), env, context)).status).toBe(200);
    await worker.fetch(request(), env, context);
    const warnings = lines.mock.calls
      .map(([line]) => LogLine.parse(JSON.parse(String(line))))
      .filter(({ event }) => event === "warning")
      .map(({ message }) => message);
    const named = [
      "REUSE_PORT",
      "METRICS_PORT",
      "BROWSER_SEARCH_FOLDER",
      "MCP_SERVERS",
      "MCP_FROM_REQUESTS",
      "INSPECT",
      "CAPTURE",
    ];
    expect(warnings).toEqual([
      ...named.map(
        (name) => `HARMONY_GATEWAY_${name}: is available on Node only, and has no effect here.`,
      ),
      "pythonRuntime deno: is available on Node only, so the tool python does not run here, and answers to requests for it " +
        "name it as skipped. Use pythonRuntime http.",
    ]);
  });

  test("an engine in the process is named at the start, and its failure says the same", async () => {
    const worker = await startIsolate();
    const env = { HARMONY_GATEWAY_ENGINE: "llama", HARMONY_GATEWAY_OPEN: "true" };
    const response = await worker.fetch(chat({}), env, context);
    expect(response.status).toBe(503);
    expect(lines.mock.calls.join()).toContain("engine llama: is available on Node only");
  });

  const env = { HARMONY_GATEWAY_BUILTIN_TOOLS: "python", HARMONY_GATEWAY_MCP_SERVERS: MCP };
  const model = "openai/gpt-oss-20b";

  test("a Responses request for such tools is answered without them, which a header names", async () => {
    const response = await (
      await startIsolate()
    ).fetch(
      post("/v1/responses", {
        model,
        input: "Hi.",
        tools: [
          { type: "mcp", server_label: "docs" },
          { type: "code_interpreter", container: { type: "auto" } },
        ],
      }),
      env,
      context,
    );
    expect(response.status).toBe(200);
    expect(response.headers.get("x-harmony-skipped-tools")).toBe("mcp, code_interpreter");
  });

  test("so is a Messages request", async () => {
    const response = await (
      await startIsolate()
    ).fetch(
      post("/v1/messages", {
        model,
        max_tokens: 100,
        messages: [{ role: "user", content: "Hi." }],
        tools: [{ type: "code_execution_20250825", name: "code_execution" }],
      }),
      env,
      context,
    );
    expect(response.status).toBe(200);
    expect(response.headers.get("x-harmony-skipped")).toBe("code_execution_20250825");
  });

  test("a Chat Completions request for them is refused", async () => {
    const response = await (
      await startIsolate()
    ).fetch(chat({ tools: [{ type: "code_interpreter" }] }), env, context);
    expect(response.status).toBe(400);
    expect(await response.text()).toContain("does not run");
  });
});

describe("what fails is a reason in the log and a clean status for the client:", () => {
  const model = "openai/gpt-oss-20b";
  const Failure = z.object({ error: z.object({ message: z.string() }) });

  function fieldsOf(event: string): Record<string, unknown>[] {
    return lines.mock.calls
      .map(([line]) => LogLine.parse(JSON.parse(String(line))))
      .filter((line) => line.event === event);
  }

  test("a database that is full", async () => {
    const worker = await startIsolate();
    const env = { HARMONY_GATEWAY_STORE: "d1:STORE", STORE: createSimulatedD1({ maxRows: 0 }) };
    const respond = (body: object) =>
      worker.fetch(post("/v1/responses", { model, input: "Hi.", ...body }), env, context);
    const response = await respond({});
    expect(response.status).toBe(503);
    expect(Failure.parse(await response.json()).error.message).not.toMatch(/D1|SQL/);
    expect(fieldsOf("store failing")).toMatchObject([
      { operation: "set", failure: "refused", message: "D1 answered: Exceeded maximum DB size." },
    ]);
    // A request that needs no store is answered.
    expect((await respond({ store: false })).status).toBe(200);
  });

  test("a namespace that does not answer", async () => {
    const worker = await startIsolate();
    const down = () => Promise.reject(new Error("KV PUT failed: 500 Internal Server Error"));
    const STORE = { get: down, put: down, delete: down };
    const env = { HARMONY_GATEWAY_STORE: "kv:STORE", STORE };
    const request = post("/v1/responses", { model, input: "Hi." });
    expect((await worker.fetch(request, env, context)).status).toBe(503);
    expect(fieldsOf("store failing")).toMatchObject([
      { failure: "error", message: "KV PUT failed: 500 Internal Server Error" },
    ]);
    expect((await worker.fetch(chat({}), env, context)).status).toBe(200);
  });

  test("an engine that is down at the first request", async () => {
    const worker = await startIsolate();
    const env = {
      HARMONY_GATEWAY_ENGINE: "vllm",
      HARMONY_GATEWAY_URL: "http://127.0.0.1:9",
      HARMONY_GATEWAY_MODEL: model,
      HARMONY_GATEWAY_OPEN: "true",
    };
    const beside: Promise<unknown>[] = [];
    const waitUntil = (work: Promise<unknown>) => beside.push(work);
    const response = await worker.fetch(chat({}), env, { waitUntil });
    await Promise.all(beside);
    expect(response.status).toBe(503);
    expect(Failure.parse(await response.json()).error.message).not.toContain("127.0.0.1");
    expect(fieldsOf("engine unavailable")).toMatchObject([
      { level: "warn", reason: expect.stringContaining("Cannot reach http://127.0.0.1:9") },
    ]);
  });

  test("a request that is too large", async () => {
    const worker = await startIsolate();
    const env = { HARMONY_GATEWAY_MAX_BODY_BYTES: "1000" };
    const messages = [{ role: "user", content: "x".repeat(1000) }];
    const response = await worker.fetch(chat({ messages }), env, context);
    expect(response.status).toBe(413);
    expect(Failure.parse(await response.json()).error.message).toContain("1000");
    expect(fieldsOf("request")).toMatchObject([{ status: 413 }]);
  });
});

function chat(body: object): Request {
  return post("/v1/chat/completions", { messages: [{ role: "user", content: "Hi." }], ...body });
}

function post(path: string, body: object): Request {
  return new Request(`https://gateway.example${path}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
}

test("the application is made once for each isolate", async () => {
  const worker = await startIsolate();
  const names = ["first", "second"].map(async (servedName) => {
    const env = { HARMONY_GATEWAY_SERVED_NAME: servedName };
    const request = new Request("https://gateway.example/v1/models");
    return (await worker.fetch(request, env, context)).json();
  });
  const [first, second] = await Promise.all(names);
  expect(first).toMatchObject({ data: [{ id: "first" }] });
  expect(second).toEqual(first);
});

test("engines are probed alongside the first request", async () => {
  const answered = Promise.withResolvers<void>();
  const models = { data: [{ id: "openai/gpt-oss-20b", max_model_len: 131_072 }] };
  // The database answers no query before the first request is answered.
  const engine = await startFakeUpstream(async (exchange) => {
    await answered.promise;
    if (exchange.path === "/v1/models") return exchange.reply(200, JSON.stringify(models));
    exchange.begin();
    exchange.end(`${toFrame(spelledIds("<|return|>"), "stop")}data: [DONE]\n\n`);
  });
  onTestFinished(() => engine.close());
  const env = {
    HARMONY_GATEWAY_ENGINE: "completions",
    HARMONY_GATEWAY_URL: engine.url,
    HARMONY_GATEWAY_OPEN: "true",
  };
  const worker = await startIsolate();
  const promises: Promise<unknown>[] = [];
  const waitUntil = (promise: Promise<unknown>) => promises.push(promise);
  const fetchStates = async () =>
    (await worker.fetch(new Request("https://gateway.example/ready"), env, { waitUntil })).json();
  expect(await fetchStates()).toMatchObject({ models: [{ state: "unknown" }] });
  answered.resolve();
  await Promise.all(promises);
  expect(await fetchStates()).toMatchObject({ models: [{ state: "ready" }] });
});

test("an engine that was down is probed again later", async () => {
  vi.useFakeTimers({ toFake: ["Date", "performance"] });
  const engine = await startFakeUpstream((exchange) => exchange.reply(503, "starting"));
  const worker = await startIsolate();
  const env = {
    HARMONY_GATEWAY_ENGINE: "completions",
    HARMONY_GATEWAY_URL: engine.url,
    HARMONY_GATEWAY_OPEN: "true",
  };
  const questionsAfter = async (ms: number) => {
    vi.advanceTimersByTime(ms);
    const before = engine.exchanges.length;
    const promises: Promise<unknown>[] = [];
    const waitUntil = (promise: Promise<unknown>) => promises.push(promise);
    await worker.fetch(new Request("https://gateway.example/v1/models"), env, { waitUntil });
    await Promise.all(promises);
    return engine.exchanges.length - before;
  };
  expect(await questionsAfter(0)).toBeGreaterThan(0);
  expect(await questionsAfter(10_000)).toBe(0);
  engine.handle((exchange) => exchange.reply(200, JSON.stringify({ data: [{ id: "m" }] })));
  expect(await questionsAfter(30_000)).toBeGreaterThan(0);
  await engine.close();
});
