import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { connect } from "node:net";
import { networkInterfaces, tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, onTestFinished, test } from "vitest";
import * as z from "zod";
import { createEngine, type Engine, EngineError } from "../../../src/index.ts";
import { startGateway } from "../../../src/node/index.ts";
import { eventually } from "../../helpers/eventually.ts";
import { fakeEngine } from "../../helpers/fake-engine.ts";
import { listenAnywhere } from "../../helpers/listen.ts";
import {
  startTestGateway,
  type TestGateway,
  type TestGatewayOptions,
} from "../../helpers/gateway.ts";
import { readEvents } from "../../helpers/replies.ts";

const gateways: TestGateway[] = [];

async function start(options: TestGatewayOptions): Promise<TestGateway> {
  const gateway = await startTestGateway(options);
  gateways.push(gateway);
  return gateway;
}

afterEach(async () => {
  await Promise.all(gateways.splice(0).map((gateway) => gateway.close()));
});

function stream({ baseURL }: TestGateway, signal?: AbortSignal): Promise<Response> {
  return fetch(`${baseURL}/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ messages: [{ role: "user", content: "Hello!" }], stream: true }),
    ...(signal && { signal }),
  });
}

function turnsOf({ logged }: TestGateway): unknown[] {
  return logged.filter((line) => line["event"] === "turn").map((line) => line["finish"]);
}

/** The reason of a rejection. `fetch` fails with a TypeError for each cause. */
function failureOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => undefined,
    (error: unknown) => error,
  );
}

/** A port without a listener. */
async function closedPort(): Promise<number> {
  const server = createServer();
  const port = await listenAnywhere(server);
  await new Promise((resolve) => server.close(resolve));
  return port;
}

describe("shutdown", () => {
  test("an in-flight answer is completed, and new connections are refused", async () => {
    const gateway = await start({
      engine: createEngine("demo", { model: "demo", tokensPerSecond: 300 }),
    });
    const response = await stream(gateway);
    const closing = gateway.close();
    expect(await failureOf(fetch(`${gateway.origin}/health`))).toBeInstanceOf(TypeError);
    expect(await response.text()).toMatch(/data: \[DONE\]\n\n$/);
    await closing;
    expect(turnsOf(gateway)).toEqual(["stop"]);
    expect(gateway.logged.at(-1)).toMatchObject({ event: "stop" });
  });

  test.each([
    ["nothing was asked", ""],
    ["half a head came", "GET /health HTTP/1.1\r\nHost: localhost\r\nX-Slow: "],
    ["a request was answered", "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"],
    [
      "half a head came after an answer",
      "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\nGET /health HTTP/1.1\r\nHost: ",
    ],
  ])("connections over which %s are not waited for", async (_, sent) => {
    const gateway = await start({ settings: { shutdownGraceMs: 600_000 } });
    const { port, hostname } = new URL(gateway.origin);
    const socket = connect(Number(port), hostname);
    socket.on("error", () => {});
    await once(socket, "connect");
    socket.write(sent);
    // The gateway has read earlier bytes when it answers this request.
    await fetch(`${gateway.origin}/health`);
    const closed = once(socket.resume(), "close");
    await gateway.close();
    await closed;
    expect(gateway.logged.at(-1)).toMatchObject({ event: "stop" });
  });

  test("an answer that begins during the shutdown announces that its connection closes, so that a proxy sends nothing on it (S30)", async () => {
    const asked = Promise.withResolvers<void>();
    const go = Promise.withResolvers<void>();
    const demo = createEngine("demo", { model: "demo" });
    const engine: Engine = {
      ...demo,
      async *complete(request, signal) {
        asked.resolve();
        await go.promise;
        yield* demo.complete(request, signal);
      },
    };
    const gateway = await start({ engine });
    const before = await fetch(`${gateway.origin}/health`);
    expect(before.headers.get("connection")).toBe("keep-alive");
    const answer = fetch(`${gateway.baseURL}/chat/completions`, {
      method: "POST",
      body: JSON.stringify({ messages: [{ role: "user", content: "Hello!" }] }),
    });
    await asked.promise;
    const closing = gateway.close();
    go.resolve();
    expect((await answer).headers.get("connection")).toBe("close");
    await closing;
  });

  test("a stream that takes too long is stopped with a typed error and a proper end", async () => {
    const gateway = await start({
      engine: createEngine("demo", { model: "demo", tokensPerSecond: 1 }),
      settings: { shutdownGraceMs: 2000 },
    });
    const response = await stream(gateway);
    const text = response.text();
    await gateway.close();
    const error = {
      code: "shutdown",
      type: "server_error",
      message: "The gateway is shutting down.",
    };
    expect(JSON.parse(readEvents(await text).at(-1) ?? "")).toMatchObject({ error });
    expect(turnsOf(gateway)).toEqual(["failed"]);
  });

  test("a plain answer that takes too long is a 503", async () => {
    const gateway = await start({
      engine: createEngine("demo", { model: "demo", tokensPerSecond: 1 }),
      settings: { shutdownGraceMs: 2000 },
    });
    const response = fetch(`${gateway.baseURL}/chat/completions`, {
      method: "POST",
      body: JSON.stringify({ messages: [{ role: "user", content: "Hello!" }] }),
    });
    await eventually(async () => {
      const metrics = await (await fetch(`${gateway.origin}/metrics`)).text();
      expect(metrics).toContain("harmony_gateway_turns_in_flight 1\n");
    });
    await gateway.close();
    expect((await response).status).toBe(503);
    expect((await response).headers.get("retry-after")).toBe("1");
  });

  test("an unread answer is cut at the end of the grace period", async () => {
    const gateway = await start({
      engine: createEngine("demo", { model: "demo", tokensPerSecond: 1 }),
      settings: { shutdownGraceMs: 0 },
    });
    const response = await stream(gateway);
    const failure = failureOf(response.text());
    await gateway.close();
    await failure;
    expect(turnsOf(gateway)).toHaveLength(1);
  });
});

test("a disconnect ends the turn", async () => {
  const gateway = await start({
    engine: createEngine("demo", { model: "demo", tokensPerSecond: 1 }),
  });
  const leaving = new AbortController();
  await stream(gateway, leaving.signal);
  leaving.abort();
  await expect.poll(() => turnsOf(gateway)).toEqual(["cancelled"]);
});

test("a disconnect while the body is sent is not a server error", async () => {
  const gateway = await start({ settings: { log: "debug" } });
  const { port, hostname } = new URL(gateway.origin);
  const socket = connect(Number(port), hostname);
  socket.write(
    'POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{"messages": ',
  );
  // The gateway has begun to read the body when it answers this request.
  await fetch(`${gateway.origin}/health`);
  socket.destroy();
  const requests = () => {
    return gateway.logged.filter(({ route }) => route === "/v1/chat/completions");
  };
  await expect.poll(() => requests()).toMatchObject([{ level: "info", status: 499 }]);
  expect(gateway.logged.filter(({ level }) => level === "error")).toEqual([]);
});

test("a disconnect after a body sent in pieces ends the turn", async () => {
  const gateway = await start({
    engine: createEngine("demo", { model: "demo", tokensPerSecond: 1 }),
  });
  const leaving = new AbortController();
  const body = JSON.stringify({ messages: [{ role: "user", content: "Hello!" }] });
  const answer = fetch(`${gateway.baseURL}/chat/completions`, {
    method: "POST",
    body: new Blob([body.slice(0, 10), body.slice(10)]).stream(),
    duplex: "half",
    signal: leaving.signal,
  });
  const failure = failureOf(answer);
  await eventually(async () => {
    const metrics = await fetch(`${gateway.origin}/metrics`);
    expect(await metrics.text()).toContain("harmony_gateway_turns_in_flight 1\n");
  });
  leaving.abort();
  expect(await failure).toMatchObject({ name: "AbortError" });
  await expect.poll(() => turnsOf(gateway)).toEqual(["cancelled"]);
});

test.each(["content-length: 500\r\n\r\n{", "transfer-encoding: chunked\r\n\r\n9\r\n{"])(
  "a client that disconnects while sending its body is not a failure: %j",
  async (head) => {
    const gateway = await start({
      engine: createEngine("demo", { model: "demo" }),
      settings: { log: "debug" },
    });
    const socket = connect(Number(new URL(gateway.origin).port), "127.0.0.1");
    await once(socket, "connect");
    socket.write(`POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\n${head}`);
    // This answer follows the head of the other request, which has been read.
    await fetch(`${gateway.origin}/health`);
    socket.destroy();
    const requests = () => gateway.logged.filter(({ route }) => route === "/v1/chat/completions");
    await expect.poll(() => requests()).toHaveLength(1);
    expect(requests()).toMatchObject([{ event: "request", level: "info", status: 499 }]);
    expect(gateway.logged.filter(({ level }) => level === "error")).toEqual([]);
  },
);

describe("an unreachable engine", () => {
  test("is reported to the operator, to load balancers and to clients", async () => {
    const url = `http://127.0.0.1:${await closedPort()}`;
    const gateway = await start({ settings: { engine: "vllm", url } });
    const reason = `Cannot reach ${url}`;
    await expect
      .poll(() => gateway.logged)
      .toContainEqual(
        expect.objectContaining({
          event: "engine unavailable",
          model: "openai/gpt-oss-20b",
          reason: expect.stringContaining(reason),
        }),
      );

    const ready = await fetch(`${gateway.origin}/ready`);
    expect(ready.status).toBe(503);
    expect(await ready.json()).toMatchObject({
      models: [
        {
          state: "unavailable",
          queued: 0,
          backends: [{ id: "vllm", health: "down", last_failure: { kind: "unreachable" } }],
        },
      ],
    });

    const answer = await stream(gateway);
    expect(answer.status).toBe(503);
    expect(answer.headers.get("retry-after")).toBe("1");
    expect(await answer.json()).toMatchObject({
      error: { code: "provider_unavailable", metadata: { error_type: "provider_unavailable" } },
    });
  });

  test.each([
    ["on this machine and without keys gets the cause", {}, true],
    ["behind a proxy is not", { open: true }, false],
  ])("a client %s", async (_, settings, isTold) => {
    const url = `http://127.0.0.1:${await closedPort()}`;
    const gateway = await start({ settings: { engine: "vllm", url, ...settings } });
    await expect
      .poll(() => gateway.logged.map(({ event }) => event))
      .toContain("engine unavailable");
    const { error } = z
      .object({ error: z.object({ message: z.string() }) })
      .parse(await (await stream(gateway)).json());
    expect(error.message.includes(`Cannot reach ${url}/`)).toBe(isTold);
    expect(error.message.includes(url)).toBe(isTold);
  });

  test("is probed until it is, and reported once", async () => {
    let asked = 0;
    const late = fakeEngine(async (signal) => {
      asked += 1;
      if (asked < 3) throw new EngineError("overloaded", "The engine is loading.");
      return fakeEngine().probe(signal);
    });
    const gateway = await start({ engine: late });
    const told = () => gateway.logged.filter(({ event }) => String(event).startsWith("engine"));
    await expect.poll(told).toMatchObject([
      { event: "engine unavailable", reason: "The engine is loading." },
      { event: "engine ready", description: "fake engine" },
      {
        event: "engine warning",
        message:
          "The server does not report a context length, and none is configured: clients read 131072. Set contextLength if it is less.",
      },
    ]);
  });
});

describe("a start that fails after everything is open", () => {
  test("closes both ports and the store's file", async () => {
    const folder = await mkdtemp(join(tmpdir(), "serve-test-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    const store = `sqlite:${join(folder, "state.db")}`;
    let started: unknown;
    const failure = await failureOf(
      startGateway({
        port: 0,
        metricsPort: 0,
        store,
        log({ event, fields }) {
          if (event !== "start") return;
          started = fields;
          throw new Error("the log is full");
        },
      }),
    );
    expect(failure).toEqual(new Error("the log is full"));
    const { baseUrl, metrics } = z
      .object({ baseUrl: z.string(), metrics: z.string() })
      .parse(started);
    for (const url of [baseUrl, metrics]) {
      expect(await failureOf(fetch(url))).toBeInstanceOf(TypeError);
    }
    // SQLite removes its journal when the last connection closes.
    expect(await readdir(folder)).toEqual(["state.db"]);
  });
});

test.skipIf(process.platform === "win32")(
  "U16: a FIFO among the files of the browser refuses the start (skipped on Windows, which has none)",
  async () => {
    const folder = await mkdtemp(join(tmpdir(), "gateway-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    const settings = {
      builtinTools: ["browser"],
      browserSearch: "local",
      browserSearchFolder: folder,
    };
    await writeFile(join(folder, "page.md"), "Words.");
    await start({ settings });
    const path = join(folder, "x.md");
    execFileSync("mkfifo", [path]);
    await expect(start({ settings })).rejects.toThrow(
      `browserSearchFolder: ${path}: is not an ordinary file.`,
    );
  },
);

/** Containers often have no IPv6, not even of their own loopback interface. */
const HAS_IPV6 = Object.values(networkInterfaces()).some((addresses) =>
  addresses?.some(({ address }) => address === "::1"),
);

test.skipIf(!HAS_IPV6)(
  "an IPv6 address is put in brackets (skipped where the machine has none)",
  async () => {
    const gateway = await start({ settings: { host: "::1" } });
    expect(gateway.baseURL).toMatch(/^http:\/\/\[::1\]:\d+\/v1$/);
    expect((await fetch(`${gateway.origin}/health`)).status).toBe(200);
  },
);
