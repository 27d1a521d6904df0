import { hash } from "node:crypto";
import { describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { assemble } from "../src/gateway.ts";
import {
  createEngine,
  createFetchTransport,
  EngineError,
  type ModelOptions,
  type Models,
  type Transport,
} from "../src/index.ts";
import { RESPONSE_HEADERS } from "../src/telemetry/response-headers.ts";
import { jsonAnswer, scriptTransport, streamOf } from "./engines/support.ts";
import { fakeEngine } from "./helpers/fake-engine.ts";
import { testLog, testSettings } from "./helpers/gateway.ts";

const NOW = new Date("2026-01-31T12:00:00Z");
const ISO_TIME = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/;
const COMPLETION = z.object({
  usage: z.object({ prompt_tokens: z.number(), completion_tokens: z.number() }),
});
const HELLO = { model: "openai/gpt-oss-20b", messages: [{ role: "user", content: "Hello!" }] };

interface Options {
  readonly settings?: Readonly<Record<string, unknown>>;
  readonly models?: readonly ModelOptions[];
  /** Serves a pool with the backend `a`, a server with this transport. */
  readonly transport?: Transport;
  readonly monitored?: boolean;
}

function gateway({ settings = {}, models: served, transport, monitored = false }: Options = {}) {
  const logged: Record<string, unknown>[] = [];
  const demo = [{ id: "openai/gpt-oss-20b", engine: createEngine("demo", { model: "demo" }) }];
  const backends = [{ engine: "vllm", url: "http://engine:8000", name: "a" }];
  const { app, models, enforce } = assemble(
    testSettings({ ...(transport && { backends }), ...settings }),
    {
      ...(!transport && { models: served ?? demo }),
      transport: transport ?? createFetchTransport(),
      monitored,
      log: testLog(logged),
      now: () => NOW.getTime(),
      clock: () => 0,
      randomId: () => "0123456789abcdef",
    },
  );
  enforce();
  // Start-up messages do not belong to a request.
  logged.length = 0;
  const send = async (path: string, init: RequestInit = {}) => app.request(path, init);
  const post = (
    body: unknown,
    headers: Record<string, string> = {},
    path = "/v1/chat/completions",
  ) =>
    send(path, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: typeof body === "string" ? body : JSON.stringify(body),
    });
  return { send, post, logged, models };
}

function envelope(code: string, type: string, errorType: string, message: unknown) {
  return { error: { code, message, type, param: null, metadata: { error_type: errorType } } };
}

describe("routes", () => {
  test.each(["/v1", "/api/v1"])("the API is found under %s", async (prefix) => {
    const { send, post } = gateway();
    expect((await send(`${prefix}/models`)).status).toBe(200);
    const response = await post(HELLO, {}, `${prefix}/chat/completions`);
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({
      object: "chat.completion",
      choices: [{ message: { role: "assistant", content: expect.any(String) } }],
    });
  });

  test.each(["/", "/v2/models", "/v1/nothing", "/v1/chat/completions/x", "/v1"])(
    "%s is not there",
    async (path) => {
      const response = await gateway().send(path);
      expect(response.status).toBe(404);
      expect(await response.json()).toEqual(
        envelope("unknown_url", "not_found_error", "not_found", expect.stringContaining("/v1")),
      );
    },
  );

  test.each([
    ["GET", "/v1/chat/completions", "POST"],
    ["POST", "/v1/models", "GET, HEAD"],
    ["DELETE", "/v1/models/openai/gpt-oss-20b", "GET, HEAD"],
    ["PUT", "/health", "GET, HEAD"],
  ])("%s %s is not allowed", async (method, path, allow) => {
    const response = await gateway().send(path, { method });
    expect(response.status).toBe(405);
    expect(response.headers.get("allow")).toBe(allow);
    expect(await response.json()).toEqual(
      envelope(
        "invalid_request",
        "invalid_request_error",
        "invalid_request",
        expect.stringContaining(allow),
      ),
    );
  });
});

describe("a request's id", () => {
  test.each([
    ["its own, when it sends one", "trace-1:2.3_4", "trace-1:2.3_4"],
    ["a new one, when it sends none", undefined, "req_0123456789abcdef"],
    ["a new one, when its own could forge a log line", "a b", "req_0123456789abcdef"],
    ["a new one, when its own is endless", "x".repeat(129), "req_0123456789abcdef"],
  ])("is %s", async (_, sent, expected) => {
    const { send } = gateway();
    const init = sent === undefined ? {} : { headers: { "x-request-id": sent } };
    for (const path of ["/health", "/nowhere"]) {
      expect((await send(path, init)).headers.get("x-request-id")).toBe(expected);
    }
  });
});

describe("keys", () => {
  const withKey = { keys: [`alice:${hash("sha256", "hg-1")}`] };

  test("the API wants one, in the envelope of errors", async () => {
    const { send } = gateway({ settings: withKey });
    const response = await send("/v1/models");
    expect(response.status).toBe(401);
    expect(response.headers.get("www-authenticate")).toBe("Bearer");
    expect(await response.json()).toEqual(
      envelope("invalid_api_key", "authentication_error", "authentication", expect.any(String)),
    );
  });

  test("with one, it answers", async () => {
    const { send } = gateway({ settings: withKey });
    const headers = { authorization: "Bearer hg-1" };
    expect((await send("/v1/models", { headers })).status).toBe(200);
  });

  test("health needs none", async () => {
    const { send } = gateway({ settings: withKey });
    expect((await send("/health")).status).toBe(200);
    expect((await send("/ready")).status).toBe(200);
  });
});

describe("web pages", () => {
  const preflight = (origin: string) => ({
    method: "OPTIONS",
    headers: {
      origin,
      "access-control-request-method": "POST",
      "access-control-request-headers": "authorization,content-type,x-title,x-stainless-os",
    },
  });

  test("a local one may ask, with the headers the SDKs send, and read ours", async () => {
    const { send, post } = gateway();
    const origin = "http://localhost:3000";
    const asked = await send("/v1/chat/completions", preflight(origin));
    expect(asked.status).toBe(204);
    expect(Object.fromEntries(asked.headers)).toMatchObject({
      "access-control-allow-origin": origin,
      "access-control-allow-headers": "authorization,content-type,x-title,x-stainless-os",
      "access-control-allow-methods": expect.stringContaining("POST"),
    });
    const answered = await post(HELLO, { origin });
    expect(answered.status).toBe(200);
    expect(Object.fromEntries(answered.headers)).toMatchObject({
      "access-control-allow-origin": origin,
      "access-control-expose-headers": RESPONSE_HEADERS.join(","),
    });
  });

  test("a foreign page may not use a gateway without keys", async () => {
    const { send, post } = gateway();
    for (const origin of ["https://evil.example", "http://localhost.evil.example", "null"]) {
      const response = await post(HELLO, { origin });
      expect(response.status).toBe(403);
      expect(response.headers.get("access-control-allow-origin")).toBeNull();
      expect(await response.json()).toEqual(
        envelope(
          "permission_denied",
          "permission_error",
          "permission_denied",
          expect.stringContaining(origin),
        ),
      );
      expect((await send("/v1/models", preflight(origin))).status).toBe(403);
    }
  });

  test.each<[string, Record<string, unknown>]>([
    ["open", { open: true }],
    ["listed", { corsOrigins: ["https://app.example"] }],
    ["all allowed", { corsOrigins: ["*"] }],
    ["behind keys", { keys: [`a:${"0".repeat(64)}`] }],
  ])("a foreign one may ask when the gateway is %s", async (_, settings) => {
    const { send } = gateway({ settings });
    const asked = await send("/v1/models", preflight("https://app.example"));
    expect(asked.status).toBe(204);
    expect(asked.headers.get("access-control-allow-origin")).toBe("https://app.example");
  });

  test("a page can read why it was refused for want of a key", async () => {
    const { post } = gateway({ settings: { keys: [`a:${"0".repeat(64)}`] } });
    const response = await post(HELLO, { origin: "https://app.example" });
    expect(response.status).toBe(401);
    expect(response.headers.get("access-control-allow-origin")).toBe("https://app.example");
  });
});

describe("the body limit", () => {
  const tooLarge = envelope(
    "payload_too_large",
    "invalid_request_error",
    "payload_too_large",
    "The request body is larger than 1000 bytes.",
  );
  const long = JSON.stringify({ ...HELLO, user: "x".repeat(1000) });

  test.each([
    [33_554_432, "32 MB"],
    [2_000_000, "2 MB"],
    [1_500_001, "1500001 bytes"],
  ])("a limit of %i bytes is %s", async (maxBodyBytes, size) => {
    const { post } = gateway({ settings: { maxBodyBytes } });
    const response = await post(HELLO, { "content-length": String(maxBodyBytes + 1) });
    expect(await response.text()).toContain(`The request body is larger than ${size}.`);
  });

  test("a body announced as too long is refused", async () => {
    const { post } = gateway({ settings: { maxBodyBytes: 1000 } });
    const response = await post(long, { "content-length": String(long.length) });
    expect(response.status).toBe(413);
    expect(await response.json()).toEqual(tooLarge);
  });

  test("a body that turns out too long is refused", async () => {
    const { post } = gateway({ settings: { maxBodyBytes: 1000 } });
    const response = await post(long);
    expect(response.status).toBe(413);
    expect(await response.json()).toEqual(tooLarge);
  });

  test("a body of just the limit passes", async () => {
    const fits = JSON.stringify(HELLO);
    const { post } = gateway({ settings: { maxBodyBytes: fits.length } });
    expect((await post(fits)).status).toBe(200);
    expect((await post(fits, { "content-length": String(fits.length) })).status).toBe(200);
  });
});

test.each([
  [{ maxMessages: 1 }, { messages: [...HELLO.messages, ...HELLO.messages] }, "messages"],
  [{ maxTools: 1 }, { tools: [{}, {}] }, "tools"],
  [{}, JSON.parse(`{"metadata":${"[".repeat(64)}${"]".repeat(64)}}`), "metadata"],
])("the limit %j is kept", async (settings, extra, param) => {
  const response = await gateway({ settings }).post({ ...HELLO, ...extra });
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({ error: { param } });
});

describe("readiness", () => {
  const SECRET = "Incorrect API key: sk-secret, at http://engine:8000";
  const missing = fakeEngine(async () => {
    throw new EngineError("unreachable", SECRET);
  });
  const probe = async (models: Models) => {
    await Promise.all(models.all.map((model) => model.probe(new AbortController().signal)));
  };

  test.each([{}, { open: true }])("says no words of an engine's: %j", async (settings) => {
    const { send, models } = gateway({ models: [{ id: "m", engine: missing }], settings });
    await probe(models);
    expect((await send("/health")).status).toBe(200);
    const response = await send("/ready");
    expect(response.status).toBe(503);
    expect(await response.json()).toEqual({
      status: "unavailable",
      models: [{ id: "m", state: "unavailable" }],
    });
  });

  test("says of each backend how it last failed, and when", async () => {
    const transport = scriptTransport(() => new EngineError("unreachable", SECRET));
    const { send, models } = gateway({ transport });
    await probe(models);
    const response = await send("/ready");
    expect(response.status).toBe(503);
    expect(await response.json()).toMatchObject({
      models: [
        {
          state: "unavailable",
          backends: [
            {
              id: "a",
              health: "down",
              last_failure: {
                kind: "unreachable",
                at: expect.stringMatching(ISO_TIME),
              },
            },
          ],
        },
      ],
    });
    expect(await (await send("/ready")).text()).not.toContain("secret");
  });

  test("asks no engine, and waits for none", async () => {
    const asked = vi.fn<() => Promise<never>>(() => new Promise(() => {}));
    const { send, models } = gateway({ models: [{ id: "m", engine: fakeEngine(asked) }] });
    await send("/ready");
    expect(asked).not.toHaveBeenCalled();
    void probe(models);
    expect((await send("/ready")).status).toBe(200);
    expect(asked).toHaveBeenCalledTimes(1);
  });

  test("of a model without a probe result is 503 only if models are monitored", async () => {
    const choice = { index: 0, text: "", token_ids: [200002], finish_reason: "stop" };
    const completion = streamOf(
      `data: ${JSON.stringify({ choices: [choice] })}\n\ndata: [DONE]\n\n`,
    );
    const list = jsonAnswer({ data: [{ id: "openai/gpt-oss-20b" }] });
    const transport = scriptTransport(({ method }) => (method === "GET" ? list : completion));
    expect((await gateway({ transport }).send("/ready")).status).toBe(200);
    const monitored = gateway({ transport, monitored: true });
    const response = await monitored.send("/ready");
    expect(response.status).toBe(503);
    expect(await response.json()).toMatchObject({ models: [{ state: "unknown" }] });
    await probe(monitored.models);
    expect((await monitored.send("/ready")).status).toBe(200);
  });

  test("one ready engine of several is enough", async () => {
    const { send, models } = gateway({
      models: [
        { id: "m", engine: missing },
        { id: "n", engine: fakeEngine() },
      ],
    });
    await probe(models);
    const response = await send("/ready");
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ status: "ready" });
  });
});

describe("log records", () => {
  const SECRET = "the user's own words";

  test("a request and its turn, one line each, without content", async () => {
    const { post, logged } = gateway();
    const response = await post({ ...HELLO, messages: [{ role: "user", content: SECRET }] });
    await response.text();
    const id = "req_0123456789abcdef";
    expect(logged).toEqual([
      {
        time: expect.stringMatching(ISO_TIME),
        level: "info",
        event: "turn",
        id,
        tenant: "anonymous",
        model: "openai/gpt-oss-20b",
        finish: "stop",
        seconds: 0,
        firstTokenSeconds: 0,
        nativeReason: "stop",
        promptTokens: expect.any(Number),
        cachedTokens: 0,
        completionTokens: expect.any(Number),
        reasoningTokens: expect.any(Number),
        engineCalls: 1,
      },
      {
        time: expect.stringMatching(ISO_TIME),
        level: "info",
        event: "request",
        id,
        method: "POST",
        route: "/v1/chat/completions",
        status: 200,
        ms: 0,
        tenant: "anonymous",
      },
    ]);
    expect(JSON.stringify(logged)).not.toContain(SECRET);
  });

  test("a client that disconnects early is not a failure", async () => {
    const { send, logged } = gateway();
    const leaving = new AbortController();
    const answered = send("/v1/chat/completions", {
      method: "POST",
      body: JSON.stringify(HELLO),
      signal: leaving.signal,
    });
    leaving.abort();
    expect((await answered).status).toBe(499);
    const events = logged.map(({ event, level }) => [event, level]);
    expect(events).toContainEqual(["request", "info"]);
    expect(events.filter(([, level]) => level === "error")).toEqual([]);
  });

  test("content is logged if enabled", async () => {
    const { post, logged } = gateway({ settings: { logContent: true } });
    await post({ ...HELLO, messages: [{ role: "user", content: SECRET }] });
    expect(logged[0]).toMatchObject({
      event: "turn",
      messages: expect.arrayContaining([{ role: "user", content: SECRET }]),
      written: [
        { kind: "reasoning", text: expect.stringContaining("") },
        { kind: "content", text: expect.stringContaining(SECRET) },
      ],
    });
  });

  test("content is not logged of a request that wants no record of it", async () => {
    const { send, logged } = gateway({ settings: { logContent: true } });
    const response = await send("/v1/chat/completions", {
      method: "POST",
      headers: { "x-harmony-record": "off" },
      body: JSON.stringify({ ...HELLO, messages: [{ role: "user", content: SECRET }] }),
    });
    expect(response.status).toBe(200);
    expect(logged).toMatchObject([
      { event: "turn", tenant: "anonymous", finish: "stop" },
      { event: "request", status: 200 },
    ]);
    expect(JSON.stringify(logged)).not.toContain(SECRET);
  });

  test("broken JSON is not quoted", async () => {
    const { post, logged } = gateway();
    expect((await post(`{"messages": ${SECRET}`)).status).toBe(400);
    expect(JSON.stringify(logged)).not.toContain(SECRET);
    expect(logged).toHaveLength(1);
  });

  test("engine errors are reported without quoted text", async () => {
    const engine = {
      ...fakeEngine(),
      // oxlint-disable-next-line require-yield -- it fails before there is anything to yield
      async *complete() {
        throw new EngineError("bad-request", `refused: ${SECRET}`, { status: 400 });
      },
    };
    const { post, logged } = gateway({ models: [{ id: "m", engine }] });
    expect((await post({ ...HELLO, model: "m" })).status).toBe(400);
    expect(logged).toMatchObject([
      { event: "turn", level: "warn", finish: "failed", error: "bad-request", status: 400 },
      { event: "request", status: 400 },
    ]);
    expect(JSON.stringify(logged)).not.toContain(SECRET);
  });

  test.each([
    [
      "by its length and a hash",
      false,
      {
        serverMessageLength: SECRET.length,
        serverMessageHash: expect.stringMatching(/^[0-9a-f]{16}$/),
      },
    ],
    ["in full where content is logged", true, { serverMessage: SECRET }],
  ])("what an engine said is there %s", async (_, logContent, words) => {
    const engine = {
      ...fakeEngine(),
      // oxlint-disable-next-line require-yield -- it fails before there is anything to yield
      async *complete() {
        throw new EngineError("server-error", "vllm failed (500).", { serverMessage: SECRET });
      },
    };
    const { post, logged } = gateway({ models: [{ id: "m", engine }], settings: { logContent } });
    await post({ ...HELLO, model: "m" });
    const turn: unknown = logged[0];
    expect(turn).toMatchObject({
      event: "turn",
      error: "server-error",
      message: "vllm failed (500).",
      ...words,
    });
    expect(JSON.stringify(logged).includes(SECRET)).toBe(logContent);
  });

  test("equal messages of an engine have equal hashes, and others have not", async () => {
    const messages = [SECRET, SECRET, `${SECRET}.`];
    const engine = {
      ...fakeEngine(),
      // oxlint-disable-next-line require-yield -- it fails before there is anything to yield
      async *complete() {
        const serverMessage = messages.shift() ?? "";
        throw new EngineError("server-error", "vllm failed (500).", { serverMessage });
      },
    };
    const { post, logged } = gateway({ models: [{ id: "m", engine }] });
    while (messages.length > 0) await post({ ...HELLO, model: "m" });
    const hashes = logged.map((line) => line["serverMessageHash"]).filter(Boolean);
    expect(hashes[1]).toBe(hashes[0]);
    expect(new Set(hashes).size).toBe(2);
  });

  test("counts are given to Prometheus", async () => {
    const { send, post } = gateway();
    const { usage } = COMPLETION.parse(await (await post(HELLO)).json());
    await send("/v1/nothing");
    const response = await send("/metrics");
    expect(response.headers.get("content-type")).toBe("text/plain; version=0.0.4");
    const text = await response.text();
    const model = 'model="openai/gpt-oss-20b"';
    for (const line of [
      'harmony_gateway_requests_total{route="/v1/chat/completions",status="200"} 1',
      'harmony_gateway_requests_total{route="unknown",status="404"} 1',
      `harmony_gateway_turns_total{${model},finish="stop"} 1`,
      "harmony_gateway_turns_in_flight 0",
      `harmony_gateway_tokens_total{${model},kind="prompt"} ${usage.prompt_tokens}`,
      `harmony_gateway_tokens_total{${model},kind="completion"} ${usage.completion_tokens}`,
      `harmony_gateway_turn_seconds_count{${model}} 1`,
    ]) {
      expect(text).toContain(`${line}\n`);
    }
  });
});

describe("the current date in the prompt", () => {
  test.each([
    ["today", "Current date: 2026-01-31"],
    ["2025-05-05", "Current date: 2025-05-05"],
    ["none", undefined],
  ])("%s", async (date, expected) => {
    let prompt = "";
    const engine = {
      ...fakeEngine(),
      // oxlint-disable-next-line require-yield -- it fails before there is anything to yield
      async *complete(request: { prompt: { text(): string } }) {
        prompt = request.prompt.text();
        throw new EngineError("overloaded", "enough seen");
      },
    };
    await gateway({ settings: { date }, models: [{ id: "m", engine }] }).post({
      ...HELLO,
      model: "m",
    });
    expect(/^Current date: .*$/m.exec(prompt)?.[0]).toBe(expected);
    expect(prompt).toContain("Knowledge cutoff: 2024-06");
  });
});

describe("metrics", () => {
  const withKey = async (metrics?: string) => ({
    keys: [`alice:${hash("sha256", "hg-1")}`],
    ...(metrics && { metrics }),
  });
  const key = { headers: { authorization: "Bearer hg-1" } };

  test.each([
    ["are for those with a key", undefined, 401, 200],
    ["are for everybody where the operator says so", "open", 200, 200],
    ["are for nobody where the operator says so", "off", 404, 404],
  ])("%s", async (_, metrics, without, withOne) => {
    const { send } = gateway({ settings: await withKey(metrics) });
    expect((await send("/metrics")).status).toBe(without);
    expect((await send("/metrics", key)).status).toBe(withOne);
  });

  test("are open if no key is required", async () => {
    expect((await gateway().send("/metrics")).status).toBe(200);
  });
});
