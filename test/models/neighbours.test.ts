/** Effects of one client on the backends and on other clients, through the whole application. */
import { hash } from "node:crypto";
import { describe, expect, onTestFinished, test } from "vitest";
import * as z from "zod";
import { EngineError, type Transport } from "../../src/index.ts";
import { assemble } from "../../src/gateway.ts";
import { testLog, testSettings } from "../helpers/gateway.ts";
import { requestText } from "../helpers/request-text.ts";

const frame = (choice: object): string =>
  `data: ${JSON.stringify({ choices: [{ index: 0, text: "", ...choice }] })}\n\n`;
const TOKENS = frame({ token_ids: [200005, 17196, 200008, 13225], finish_reason: null });
const END = `${frame({ token_ids: [200002], finish_reason: "stop" })}data: [DONE]\n\n`;

type TransportRequest = Parameters<Transport>[0];

/** The reaction of a server to a completion. */
type Act =
  | { readonly status?: number; readonly body: string }
  /** Writes a token and goes on after the promise. */
  | { readonly until: Promise<void> };

const WELL: Act = { body: TOKENS + END };

/** A server that reacts to the request of each seed as the test defines. */
function createServer(act: (request: TransportRequest, seed: number) => Act): Transport {
  return async (request) => {
    request.signal.throwIfAborted();
    const isCompletion = request.method === "POST";
    const seed = /"seed":(\d+)/.exec(requestText(request.body))?.[1];
    const list = JSON.stringify({ data: [{ id: "openai/gpt-oss-20b" }] });
    // A probe has no seed: it is served.
    const own = seed === undefined ? WELL : act(request, Number(seed));
    const what = isCompletion ? own : { body: list };
    const isStream = isCompletion && !("status" in what);
    return {
      status: "status" in what ? (what.status ?? 200) : 200,
      headers: {
        get: (name) =>
          name === "content-type" ? (isStream ? "text/event-stream" : "application/json") : null,
      },
      pump: async (take) => {
        const write = (text: string) => take(new TextEncoder().encode(text));
        if ("body" in what) {
          await write(what.body);
          return;
        }
        const left = Promise.withResolvers<never>();
        left.promise.catch(() => undefined);
        request.signal.addEventListener("abort", () => left.reject(request.signal.reason));
        if (request.signal.aborted) left.reject(request.signal.reason);
        if (!(await write(TOKENS))) return;
        await Promise.race([what.until, left.promise]);
        await write(END);
      },
      close: () => undefined,
    };
  };
}

const readyBody = z.object({
  models: z.tuple([
    z.object({
      queued: z.number(),
      backends: z.array(z.object({ health: z.string(), in_flight: z.number() })),
    }),
  ]),
});

async function serve(given: Readonly<Record<string, unknown>>, transport: Transport) {
  const keys = ["a", "b"].map((name) => ({ name, sha256: hash("sha256", name) }));
  // No test here is about time in the queue: a busy machine must not end it.
  const settings = testSettings({ keys, queueTimeoutMs: 600_000, ...given });
  const { app, enforce } = assemble(settings, { transport, log: testLog() });
  enforce();
  const abort = new AbortController();
  onTestFinished(() => abort.abort());
  const post = async (key: string, body: object, signal = abort.signal) =>
    app.request("/v1/chat/completions", {
      method: "POST",
      headers: { authorization: `Bearer ${key}` },
      body: JSON.stringify({ messages: [{ role: "user", content: "hi" }], ...body }),
      signal,
    });
  const state = async () => {
    const { models } = readyBody.parse(await (await app.request("/ready")).json());
    const { queued, backends } = models[0];
    return { queued, inFlight: backends.map((each) => each.in_flight), backends };
  };
  return {
    post,
    state,
    /** Nothing is counted any more. */
    isIdle: async () => {
      const count = async () => {
        const { queued, inFlight } = await state();
        return queued + inFlight.reduce((sum, each) => sum + each, 0);
      };
      await expect.poll(count).toBe(0);
    },
  };
}

const forEver = (): Promise<void> => new Promise(() => {});

describe("slots", () => {
  test("are released when clients abort requests for many choices", async () => {
    const server = createServer((_, seed) => (seed < 1_000 ? { until: forEver() } : WELL));
    const { post, state, isIdle } = await serve({ engine: "vllm", maxConcurrent: 8 }, server);
    const left = new AbortController();
    const opened = [1, 2, 3].map((n) =>
      post("a", { n: 20, stream: true, seed: n * 100 }, left.signal).catch(() => undefined),
    );
    await expect.poll(state).toMatchObject({ inFlight: [8], queued: 52 });
    left.abort();
    await Promise.all(opened);
    await isIdle();
    expect((await post("b", { seed: 5_000 })).status).toBe(200);
  });

  test("are released when the server refuses one of several choices", async () => {
    const server = createServer((_, seed) =>
      seed % 2 === 1 ? { status: 400, body: '{"error":{"message":"no"}}' } : { until: forEver() },
    );
    const { post, isIdle } = await serve({ engine: "vllm", maxConcurrent: 16 }, server);
    for (let n = 0; n < 6; n += 1) {
      const answer = await post("a", { n: 2, seed: 2 * n, stream: n % 2 === 0 });
      // The choice that was accepted first may have begun the stream: the refusal is then in it.
      expect([200, 400]).toContain(answer.status);
      expect(await answer.text()).toContain('"error"');
    }
    await isIdle();
  });

  test("are released when choices have waited too long for further slots", async () => {
    const server = createServer(() => ({ until: forEver() }));
    const { post, isIdle } = await serve(
      { engine: "vllm", maxConcurrent: 2, queueTimeoutMs: 20 },
      server,
    );
    const whole = await post("a", { n: 4, seed: 1 });
    expect([whole.status, whole.headers.get("retry-after")]).toEqual([503, "1"]);
    const streamed = await post("a", { n: 4, seed: 1, stream: true });
    expect(await streamed.text()).toContain("provider_overloaded");
    await isIdle();
  });

  test("are passed from choice to choice if there are fewer slots than choices", async () => {
    const { post, isIdle } = await serve(
      { engine: "vllm", maxConcurrent: 2 },
      createServer(() => WELL),
    );
    const streamed = await (await post("a", { n: 6, seed: 1, stream: true })).text();
    expect(streamed).toContain('"index":5');
    expect(streamed.trimEnd().endsWith("[DONE]")).toBe(true);
    await isIdle();
  });
});

describe("shares", () => {
  test("a queue that one key has filled refuses that key, and serves another next", async () => {
    const first = Promise.withResolvers<void>();
    const served: number[] = [];
    const server = createServer((_, seed) => {
      served.push(seed);
      return seed === 0 ? { until: first.promise } : WELL;
    });
    const { post, state } = await serve({ engine: "vllm", maxConcurrent: 1, maxQueued: 4 }, server);
    const ofA = [0, 1, 2, 3, 4].map((seed) => post("a", { seed }));
    await expect.poll(async () => (await state()).queued).toBe(4);
    const refused = await post("a", { seed: 5 });
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "1"]);
    expect(await refused.json()).toMatchObject({
      error: { type: "rate_limit_error", metadata: { error_type: "rate_limit_exceeded" } },
    });
    const ofB = post("b", { seed: 100 });
    await expect.poll(async () => (await ofA[4])?.status).toBe(429);
    first.resolve();
    expect((await ofB).status).toBe(200);
    expect((await Promise.all(ofA)).map(({ status }) => status)).toEqual([200, 200, 200, 200, 429]);
    expect(served.slice(0, 2)).toEqual([0, 100]);
  });

  test("a key's own limits apply", async () => {
    const held = Promise.withResolvers<void>();
    const server = createServer(() => ({ until: held.promise }));
    const keys = [
      { name: "a", sha256: hash("sha256", "a"), maxConcurrentPerKey: 1, maxQueuedPerKey: 0 },
      { name: "b", sha256: hash("sha256", "b") },
    ];
    const { post, state } = await serve(
      { engine: "vllm", maxConcurrent: 8, maxConcurrentPerKey: 2, maxQueuedPerKey: 1, keys },
      server,
    );
    const running = ["a", "b", "b", "b"].map((key) => post(key, { seed: 1 }));
    await expect.poll(async () => (await state()).inFlight).toEqual([3]);
    expect((await state()).queued).toBe(1);
    for (const key of ["a", "b"]) expect((await post(key, { seed: 1 })).status).toBe(429);
    held.resolve();
    for (const each of running) expect((await each).status).toBe(200);
  });
});

describe("failures caused by a client's own requests", () => {
  test.each<[string, Act]>([
    ["500", { status: 500, body: '{"error":{"message":"boom"}}' }],
    ["404", { status: 404, body: '{"error":{"message":"what?"}}' }],
    ["401", { status: 401, body: '{"error":{"message":"who?"}}' }],
    ["a frame that is none", { body: "data: {\n\n" }],
    ["an error frame", { body: 'data: {"error":{"message":"boom","code":500}}\n\n' }],
  ])("is nothing to another's: %s", async (_, act) => {
    const server = createServer((__, seed) => (seed === 666 ? act : WELL));
    for (const backends of [1, 3]) {
      const { post, state } = await serve(
        {
          backends: Array.from({ length: backends }, (__, n) => ({
            engine: "vllm",
            url: `http://b${n}:8000`,
          })),
        },
        server,
      );
      for (let n = 0; n < 20; n += 1) {
        expect((await post("a", { seed: 666 })).status).toBeGreaterThanOrEqual(500);
      }
      for (let n = 0; n < 12; n += 1) expect((await post("b", { seed: n })).status).toBe(200);
      expect((await state()).backends.filter(({ health }) => health === "down")).toEqual([]);
    }
  });
});

test("an unreachable backend is ejected after a few requests, all of which are answered", async () => {
  const well = createServer(() => WELL);
  const asked: string[] = [];
  const transport: Transport = async (request) => {
    const { host } = new URL(request.url);
    if (requestText(request.body).includes('"seed"')) asked.push(host);
    if (host.startsWith("b0")) throw new EngineError("unreachable", "connection refused");
    return well(request);
  };
  const backends = ["b0", "b1"].map((name) => ({ engine: "vllm", url: `http://${name}:8000` }));
  const { post, state } = await serve({ backends }, transport);
  const ask = (n: number) =>
    post("a", { seed: n, messages: [{ role: "user", content: `question ${n}` }] });
  for (let n = 0; n < 20; n += 1) expect((await ask(n)).status).toBe(200);
  expect(asked.filter((host) => host.startsWith("b0"))).toHaveLength(3);
  expect((await state()).backends.map(({ health }) => health)).toEqual(["down", "up"]);
});
