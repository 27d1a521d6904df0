/** Every engine over real sockets and every transport: failures between the gateway and a server. */
import { setTimeout as pause } from "node:timers/promises";

import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { createEngine, createFetchTransport, type Engine, ENGINE_KINDS } from "../../src/index.ts";
import { createPool } from "../../src/engines/pool.ts";
import { limitTokens } from "../../src/turn/sampling/token-limits.ts";
import { createEngineTransport } from "../../src/node/engine-http/undici-transport.ts";
import { eventually } from "../helpers/eventually.ts";
import {
  type FakeExchange,
  type FakeUpstream,
  startFakeUpstream,
} from "../helpers/fake-upstream.ts";
import { complete, readFixture, requestOf } from "./support.ts";

const transports = {
  fetch: () => createFetchTransport(),
  undici: () => createEngineTransport(),
};

/** The beginning of a stream, tokens in it, and a complete one, for each kind reached over HTTP. */
const STREAMS = {
  vllm: { begun: "vllm/no-finish.sse", whole: "vllm/answer.sse" },
  sglang: { begun: "sglang/no-finish.sse", whole: "sglang/cumulative.sse" },
  "llama-cpp": { begun: "llama-cpp/no-finish.sse", whole: "llama-cpp/answer.sse" },
  trtllm: { begun: "trtllm/broken.sse", whole: "trtllm/answer.sse" },
  ollama: { begun: "ollama/no-finish.ndjson", whole: "ollama/answer.ndjson" },
  fireworks: { begun: "trtllm/broken.sse", whole: "fireworks/answer.sse" },
  completions: { begun: "completions/no-finish.sse", whole: "completions/answer.sse" },
} as const;

/** Its bytes without the `[DONE]` that some servers send. */
function readBegun(kind: keyof typeof STREAMS): string {
  return readText(STREAMS[kind].begun).replace("data: [DONE]\n\n", "");
}

function readText(fixture: string): string {
  return new TextDecoder().decode(readFixture(fixture));
}

const kinds = ENGINE_KINDS.filter((kind) => kind !== "demo" && kind !== "llama");

const table = kinds.flatMap((kind) =>
  Object.entries(transports).map(([transport, create]) => ({ kind, transport, create })),
);

describe.each(table)("$kind over $transport", ({ kind, create }) => {
  const begun = readBegun(kind);
  const type = typeOf(kind);
  let upstream: FakeUpstream;
  let engine: Engine;

  const stream = (run: (exchange: FakeExchange) => void | Promise<void>): void =>
    upstream.handle((exchange) => {
      exchange.begin(200, { "content-type": type });
      return run(exchange);
    });

  beforeEach(async () => {
    upstream = await startFakeUpstream();
    engine = createEngine(kind, { url: upstream.url, model: "m", transport: create() });
  });
  afterEach(async () => {
    await upstream.close();
  });

  const errorKind = async (): Promise<string | undefined> => (await complete(engine)).error?.kind;

  test("a complete response leaves the connection reusable", async () => {
    stream((exchange) => exchange.end(readText(STREAMS[kind].whole)));
    expect((await complete(engine)).finish?.reason).toBe("stop");
    // A client needs a moment to release it: until then, a request opens another one.
    await eventually(async () => {
      const before = upstream.connections;
      expect((await complete(engine)).finish?.reason).toBe("stop");
      expect(upstream.connections).toBe(before);
    });
  });

  test("a server that does not end its response after the last event causes no delay", async () => {
    stream((exchange) => exchange.write(readText(STREAMS[kind].whole)));
    expect((await complete(engine)).finish?.reason).toBe("stop");
    await upstream.exchanges[0]?.closed;
  });

  test("nothing listens: unreachable, with the URL in the message", async () => {
    await upstream.close();
    const { error } = await complete(engine);
    expect(error?.kind).toBe("unreachable");
    expect(error?.message).toContain(upstream.url);
    upstream = await startFakeUpstream();
  });

  test("the connection breaks in the middle: closed after the tokens", async () => {
    const seen = Promise.withResolvers<void>();
    stream(async (exchange) => {
      exchange.write(begun);
      // `fetch` drops what it has not delivered when the connection breaks.
      await seen.promise;
      exchange.destroy();
    });
    const result = await complete({
      ...engine,
      async *complete(...args) {
        for await (const event of engine.complete(...args)) {
          if (event.type !== "open") seen.resolve();
          yield event;
        }
      },
    });
    expect(result).toMatchObject({ opens: 1, error: { kind: "closed" } });
    expect(result.ids ?? result.pieces ?? result.text).toBeDefined();
  });

  test("the stream ends without a finish: closed", async () => {
    stream((exchange) => {
      exchange.write(begun);
      exchange.end();
    });
    expect(await errorKind()).toBe("closed");
  });

  test("the stream is empty: closed", async () => {
    stream((exchange) => exchange.end());
    expect(await errorKind()).toBe("closed");
  });

  test("garbage: the server's failure or no answer at all, never tokens", async () => {
    stream((exchange) => exchange.end("data: \u0000\ufffd{{{\n\nbinary\u0001\n\n"));
    const result = await complete(engine);
    expect(["server-error", "closed"]).toContain(result.error?.kind);
    expect(result.ids ?? result.pieces ?? result.text).toBeUndefined();
  });

  test("an HTML page: the server's failure, which asks for the right URL", async () => {
    upstream.handle((exchange) =>
      exchange.reply(200, "<html><title>Log in</title></html>", { "content-type": "text/html" }),
    );
    const { error } = await complete(engine);
    expect(error?.kind).toBe("server-error");
    expect(error?.message).not.toContain("Log in");
    expect(error?.message).toContain("Is this the URL of an inference server?");
  });

  test.each([
    [401, '{"error":"Unauthorized"}', "auth"],
    [404, '{"detail":"Not Found"}', "not-found"],
    [429, '{"error":{"message":"slow down"}}', "rate-limit"],
    [500, "Internal Server Error", "server-error"],
    [503, '{"error":{"code":503,"message":"Loading model"}}', "overloaded"],
  ])("HTTP %i %s: %s", async (status, body, expected) => {
    upstream.handle((exchange) => exchange.reply(status, body));
    expect(await errorKind()).toBe(expected);
  });

  describe("the server sees its socket close", () => {
    const running = async (signal: AbortSignal) => {
      stream((exchange) => exchange.write(begun));
      const events = engine.complete(requestOf(), signal)[Symbol.asyncIterator]();
      let first = await events.next();
      while (first.value?.type === "open") first = await events.next();
      const [exchange] = upstream.exchanges;
      if (exchange === undefined) throw new Error("no request arrived");
      return { events, exchange };
    };

    test("when the signal aborts while the next token is awaited", async () => {
      const abort = new AbortController();
      const { events, exchange } = await running(abort.signal);
      const next = events.next();
      abort.abort(new Error("the client left"));
      await expect(next).rejects.toThrow("the client left");
      await exchange.closed;
    });

    test("when the iteration is left early", async () => {
      const { events, exchange } = await running(new AbortController().signal);
      await events.return?.();
      await expect(exchange.closed).resolves.toBeUndefined();
    });
  });
});

describe.each(table)("$kind over $transport with a server without tokens", ({ kind, create }) => {
  const pings =
    kind === "ollama"
      ? ["\n", '{"response":"","done":false}\n']
      : [": ping\n\n", 'data: {"meta_info":{}}\n\n'];

  const connect = (upstream: FakeUpstream): Engine =>
    limitTokens(createEngine(kind, { url: upstream.url, model: "m", transport: create() }), {
      firstTokenMs: 100,
      idleMs: 100,
    });

  test("that never begins to answer: timeout, and the request is aborted", async () => {
    const upstream = await startFakeUpstream(() => {});
    expect(await complete(connect(upstream))).toEqual({
      opens: 0,
      error: {
        kind: "timeout",
        message: `${kind} gave no token within 100 ms. It may be overloaded or hung.`,
      },
    });
    await upstream.exchanges[0]?.closed;
    await upstream.close();
  });

  test("that only pings before its first token: timeout, and the request is aborted", async () => {
    const upstream = await startFakeUpstream((exchange) => {
      exchange.begin(200, { "content-type": typeOf(kind) });
      return ping(exchange, pings);
    });
    expect((await complete(connect(upstream))).error).toEqual({
      kind: "timeout",
      message: `${kind} gave no token within 100 ms. It may be overloaded or hung.`,
    });
    await upstream.exchanges[0]?.closed;
    await upstream.close();
  });

  test("that only pings after some tokens: timeout after those, and the request is aborted", async () => {
    const upstream = await startFakeUpstream((exchange) => {
      exchange.begin(200, { "content-type": typeOf(kind) });
      exchange.write(readBegun(kind));
      return ping(exchange, pings);
    });
    const result = await complete(connect(upstream));
    expect(result).toMatchObject({
      opens: 1,
      error: { kind: "timeout", message: `${kind} gave no further token within 100 ms.` },
    });
    expect(result.ids ?? result.pieces ?? result.text).toBeDefined();
    await upstream.exchanges[0]?.closed;
    await upstream.close();
  });
});

/** Bytes without a token, until the connection closes. */
async function ping(exchange: FakeExchange, pings: readonly string[]): Promise<void> {
  const closed = exchange.closed.then(() => true);
  for (let at = 0; ; at++) {
    exchange.write(pings[at % pings.length] ?? "");
    if (await Promise.race([closed, pause(5, false)])) return;
  }
}

test("a pool answers from the remaining server, and reports which is down", async () => {
  const upstream = await startFakeUpstream((exchange) => {
    exchange.begin();
    exchange.end(readText(STREAMS.vllm.whole));
  });
  const gone = await startFakeUpstream();
  await gone.close();
  const transport = createEngineTransport();
  const pool = createPool(
    [gone, upstream].map(({ url }) => ({
      id: url,
      engine: createEngine("vllm", { url, model: "m", transport }),
    })),
    { breaker: { failures: 1, pauseMs: 60_000, maxPauseMs: 60_000 } },
  );
  for (let i = 0; i < 4; i += 1) expect((await complete(pool)).finish?.reason).toBe("stop");
  expect(pool.state).toMatchObject({
    ready: true,
    backends: [
      { health: "down", failed: 1, succeeded: 0, inFlight: 0 },
      { health: "up", failed: 0, succeeded: 4, inFlight: 0 },
    ],
  });
  expect(pool.state.backends[0]?.reason).toBe("unreachable");
  await upstream.close();
});

function typeOf(kind: keyof typeof STREAMS): string {
  return STREAMS[kind].begun.endsWith(".ndjson") ? "application/x-ndjson" : "text/event-stream";
}
