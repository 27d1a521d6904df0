/** The requirements for both transports in one table. */
import { createPushStream, type PushStreamIterator } from "../../src/streams/push-stream.ts";
import { createServer } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { createServer as createTlsServer } from "node:tls";

import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";

import { createFetchTransport, EngineError, type Transport } from "../../src/index.ts";
import { createUndiciTransport } from "../../src/node/index.ts";
import {
  type FakeExchange,
  type FakeUpstream,
  startFakeUpstream,
} from "../helpers/fake-upstream.ts";
import { HAS_OPENSSL, makeCertificate } from "../helpers/certificate.ts";
import { eventually } from "../helpers/eventually.ts";
import { listenAnywhere } from "../helpers/listen.ts";

type TransportRequest = Parameters<Transport>[0];
type TransportResponse = Awaited<ReturnType<Transport>>;

const CONNECT_TIMEOUT_MS = 5000;

describe.each([
  { name: "fetch", create: () => createFetchTransport() },
  { name: "undici", create: () => createUndiciTransport() },
])("the $name transport", ({ create }) => {
  let upstream: FakeUpstream;
  let transport: Transport;

  beforeEach(async () => {
    upstream = await startFakeUpstream();
    transport = create();
  });
  afterEach(async () => {
    await upstream.close();
  });

  const send = (request: Partial<TransportRequest> = {}): Promise<TransportResponse> =>
    transport({
      method: "POST",
      url: `${upstream.url}/v1/completions?x=1`,
      headers: { "content-type": "application/json" },
      body: "{}",
      connectTimeoutMs: CONNECT_TIMEOUT_MS,
      signal: new AbortController().signal,
      ...request,
    });

  /** A client needs a moment to release a connection: until then, a request opens another one. */
  const reused = (ask: () => Promise<void>): Promise<void> =>
    eventually(async () => {
      const before = upstream.connections;
      await ask();
      expect(upstream.connections).toBe(before);
    });

  const stream = (run: (exchange: FakeExchange) => void | Promise<void>): void =>
    upstream.handle((exchange) => {
      exchange.begin();
      return run(exchange);
    });

  test("sends method, path, headers and body, and returns status, headers and body", async () => {
    upstream.handle((exchange) =>
      exchange.reply(418, "käse", { "content-type": "text/plain", "retry-after": "7" }),
    );
    const response = await send({
      headers: { "content-type": "application/json", authorization: "Bearer k" },
      body: '{"a":"ü"}',
    });
    expect({
      status: response.status,
      type: response.headers.get("Content-Type"),
      retryAfter: response.headers.get("retry-after"),
      missing: response.headers.get("x-none"),
      body: await readAll(response),
    }).toEqual({
      status: 418,
      type: "text/plain",
      retryAfter: "7",
      missing: null,
      body: "käse",
    });
    const [exchange] = upstream.exchanges;
    expect([exchange?.method, exchange?.path, exchange?.body]).toEqual([
      "POST",
      "/v1/completions?x=1",
      '{"a":"ü"}',
    ]);
    expect(exchange?.headers).toMatchObject({
      "content-type": "application/json",
      authorization: "Bearer k",
    });
  });

  test("sends GET without a body", async () => {
    upstream.handle((exchange) => exchange.reply(200, "{}"));
    const { signal } = new AbortController();
    const response = await transport({
      method: "GET",
      url: `${upstream.url}/v1/models`,
      headers: {},
      connectTimeoutMs: CONNECT_TIMEOUT_MS,
      signal,
    });
    expect(await readAll(response)).toBe("{}");
    expect(upstream.exchanges[0]?.method).toBe("GET");
  });

  test("delivers queued bytes in one read, in order", async () => {
    stream(async (exchange) => {
      for (let i = 0; i < 500; i += 1) exchange.write(`data: ${i}\n\n`);
      exchange.end();
    });
    const response = await send();
    await pause(100);
    const reads = await readPieces(response);
    expect(reads.join("")).toBe(Array.from({ length: 500 }, (_, i) => `data: ${i}\n\n`).join(""));
    expect(reads.length).toBeLessThan(20);
  });

  test("delivers the first bytes before the rest exist", async () => {
    let release = (): void => {};
    const more = new Promise<void>((resolve) => {
      release = resolve;
    });
    stream(async (exchange) => {
      exchange.write("one");
      await more;
      exchange.end("two");
    });
    const response = await send();
    expect(text(await read(response))).toBe("one");
    release();
    expect(text(await read(response))).toBe("two");
    expect(await read(response)).toBeUndefined();
    expect(await read(response)).toBeUndefined();
  });

  test("delivers megabytes to a reader that is slow to begin, without loss", async () => {
    const chunk = "0123456789abcdef".repeat(4096);
    stream((exchange) => {
      for (let i = 0; i < 64; i += 1) exchange.write(chunk);
      exchange.end();
    });
    const response = await send();
    await pause(50);
    let size = 0;
    for (let bytes = await read(response); bytes; bytes = await read(response)) {
      size += bytes.length;
      if (size < chunk.length * 4) await pause(1);
    }
    expect(size).toBe(64 * chunk.length);
  });

  test("reads no more from the server than its consumer does, apart from a buffer", async () => {
    const chunk = new Uint8Array(256 * 1024);
    let taken = 0;
    stream(async (exchange) => {
      for (; taken < 200; taken += 1) await exchange.writeWhenRead(chunk);
    });
    const response = await send();
    await expect.poll(() => taken).toBeGreaterThan(0);
    await pause(300);
    // The socket buffers of both sides hold some megabytes; the whole body has fifty.
    expect(taken).toBeLessThan(100);
    response.close();
  });

  test("waits for the real response after an early hint", async () => {
    const server = createServer((socket) => {
      socket.write("HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n");
      socket.end("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok");
    });
    const port = await listenAnywhere(server);
    const response = await send({ url: `http://127.0.0.1:${port}/` });
    expect([response.status, await readAll(response)]).toEqual([200, "ok"]);
    server.close();
  });

  test("reuses a connection after a complete response", async () => {
    upstream.handle((exchange) => exchange.reply(200, "{}"));
    await readAll(await send());
    const take = async (): Promise<void> => void (await readAll(await send()));
    await expect(reused(take)).resolves.toBeUndefined();
  });

  test("reuses a connection when the response ends shortly after close", async () => {
    stream(async (exchange) => {
      exchange.write("all we want");
      await pause(20);
      exchange.end("x".repeat(500_000));
    });
    const take = async (): Promise<void> => {
      const response = await send();
      await read(response);
      response.close(60_000);
      await upstream.exchanges.at(-1)?.closed;
    };
    await take();
    await expect(reused(take)).resolves.toBeUndefined();
  });

  describe("the server sees its socket close", () => {
    const endless = (exchange: FakeExchange): void => exchange.write("x");

    test.each<[string, (response: TransportResponse, abort: AbortController) => unknown]>([
      ["on close before any read", (response) => response.close()],
      [
        "on close after a read",
        async (response) => {
          await read(response);
          response.close();
        },
      ],
      ["on close when the grace is over", (response) => response.close(20)],
      ["on abort before any read", (_, abort) => abort.abort()],
      [
        "on abort during a read",
        async (response, abort) => {
          await read(response);
          const pending = read(response);
          abort.abort(new Error("left"));
          await expect(pending).rejects.toThrow("left");
        },
      ],
    ])("%s", async (_, leave) => {
      stream(endless);
      const abort = new AbortController();
      const response = await send({ signal: abort.signal });
      await leave(response, abort);
      await expect(upstream.exchanges[0]?.closed).resolves.toBeUndefined();
    });

    test("on abort before the response begins", async () => {
      const arrived = Promise.withResolvers<FakeExchange>();
      upstream.handle((exchange) => arrived.resolve(exchange));
      const abort = new AbortController();
      const pending = send({ signal: abort.signal });
      const exchange = await arrived.promise;
      abort.abort(new Error("left"));
      await expect(pending).rejects.toThrow("left");
      await exchange.closed;
    });
  });

  test("sends nothing when the signal aborts while the connection is made", async () => {
    const abort = new AbortController();
    const pending = send({ signal: abort.signal });
    abort.abort(new Error("left"));
    await expect(pending).rejects.toThrow("left");
    await pause(50);
    expect(upstream.exchanges).toEqual([]);
  });

  test("sends nothing when the signal has aborted already", async () => {
    await expect(send({ signal: AbortSignal.abort(new Error("left")) })).rejects.toThrow("left");
    expect(upstream.exchanges).toEqual([]);
  });

  test("reads fail with the signal's reason after an abort", async () => {
    stream((exchange) => exchange.write("x"));
    const abort = new AbortController();
    const response = await send({ signal: abort.signal });
    await read(response);
    abort.abort(new Error("left"));
    await expect(read(response)).rejects.toThrow("left");
  });

  test.each([
    [200, "{}"],
    [204, ""],
  ])("lets go of the signal when the response is over: %i", async (status, body) => {
    upstream.handle((exchange) => exchange.reply(status, body));
    const abort = new AbortController();
    const counter = countListeners(abort.signal);
    await readAll(await send({ signal: abort.signal }));
    expect(counter()).toBe(0);
  });

  test("does not follow redirects", async () => {
    upstream.handle((exchange) => exchange.reply(307, "", { location: "/elsewhere" }));
    const response = await send();
    expect([response.status, response.headers.get("location")]).toEqual([307, "/elsewhere"]);
    response.close();
  });

  describe("failures", () => {
    test("a refused connection is unreachable", async () => {
      const { url } = upstream;
      await upstream.close();
      expect(await failure(send())).toEqual({
        kind: "unreachable",
        message: `Cannot reach ${url}/v1/completions (connection refused). Check that the server is running and that its URL is right.`,
      });
      upstream = await startFakeUpstream();
    });

    test("https to a server of plain HTTP names the scheme to use", async () => {
      const { host } = new URL(upstream.url);
      expect(await failure(send({ url: `https://${host}/v1/models` }))).toEqual({
        kind: "unreachable",
        message: `Cannot reach https://${host}/v1/models (it does not speak TLS). Begin its URL with http, not https: --url http://${host}.`,
      });
    });

    test("http to a server of TLS, which closes the connection, names https as well", async () => {
      const server = createServer((socket) => socket.once("data", () => socket.destroy()));
      const url = `http://127.0.0.1:${await listenAnywhere(server)}`;
      onTestFinished(() => void server.close());
      expect(await failure(send({ url: `${url}/v1/models` }))).toEqual({
        kind: "unreachable",
        message: `Cannot reach ${url}/v1/models (other side closed). Check that the server is running and that its URL is right, and if it speaks TLS, begin its URL with https: --url ${url.replace("http", "https")}.`,
      });
    });

    test.skipIf(!HAS_OPENSSL)(
      "a certificate of an unknown issuer names the variable for the issuer's (skipped where openssl is not installed)",
      async () => {
        const server = createTlsServer(makeCertificate());
        const url = `https://127.0.0.1:${await listenAnywhere(server)}`;
        onTestFinished(() => void server.close());
        expect(await failure(send({ url: `${url}/v1/models` }))).toEqual({
          kind: "unreachable",
          message: `Cannot reach ${url}/v1/models (the issuer of its certificate is unknown). Name a file with the issuer's certificate: NODE_EXTRA_CA_CERTS=ca.pem.`,
        });
      },
    );

    test("an unknown host is unreachable", async () => {
      // The name is longer than DNS allows, so that no DNS server, which could be slow, is queried.
      const url = `http://${"a".repeat(64)}.invalid:8000/v1/completions`;
      const error = await failure(send({ url }));
      expect(error.kind).toBe("unreachable");
      expect(error.message).toContain(url);
    });

    test("a connection cut before the response is unreachable", async () => {
      upstream.handle((exchange) => exchange.destroy());
      expect((await failure(send())).kind).toBe("unreachable");
    });

    test("something that is not HTTP is unreachable", async () => {
      const server = createServer((socket) => socket.end("SSH-2.0-OpenSSH_9.6\r\n"));
      const port = await listenAnywhere(server);
      const error = await failure(send({ url: `http://127.0.0.1:${port}/` }));
      expect(error.kind).toBe("unreachable");
      server.close();
    });

    test("a connection cut in the middle fails as closed, after the received bytes", async () => {
      stream(async (exchange) => {
        exchange.write("x");
        await pause(20);
        exchange.destroy();
      });
      const response = await send();
      await pause(50);
      // `fetch` may drop undelivered bytes; the bytes that were read must be right.
      const error = await failure(readAll(response));
      expect(error.kind).toBe("closed");
      expect(error.message.replace(upstream.url, "")).toMatch(
        /^\/v1\/completions closed the connection in the middle of an answer \([\w ]+\)\.$/,
      );
    });

    test("a message never shows credentials or the query", async () => {
      const { port } = new URL(upstream.url);
      await upstream.close();
      const error = await failure(send({ url: `http://127.0.0.1:${port}/v1?key=secret` }));
      expect(error.message).not.toContain("secret");
      upstream = await startFakeUpstream();
    });
  });
});

test("a connection that is not made in time is unreachable on undici", async () => {
  // It accepts connections and sends nothing, so that the TLS handshake never ends.
  const server = createServer();
  const port = await listenAnywhere(server);
  const error = await failure(
    createUndiciTransport()({
      method: "GET",
      url: `https://127.0.0.1:${port}/`,
      headers: {},
      connectTimeoutMs: 50,
      signal: new AbortController().signal,
    }),
  );
  expect(error).toEqual({
    kind: "unreachable",
    message: `Cannot reach https://127.0.0.1:${port} (no connection within 50 ms). Check the URL and the network.`,
  });
  server.close();
});

test("the undici transport closes its idle connections", async () => {
  const upstream = await startFakeUpstream((exchange) => exchange.reply(200, "{}"));
  const transport = createUndiciTransport();
  const { signal } = new AbortController();
  const response = await transport({
    method: "GET",
    url: upstream.url,
    headers: {},
    connectTimeoutMs: CONNECT_TIMEOUT_MS,
    signal,
  });
  await readAll(response);
  await transport.close();
  await expect(
    transport({
      method: "GET",
      url: upstream.url,
      headers: {},
      connectTimeoutMs: CONNECT_TIMEOUT_MS,
      signal,
    }),
  ).rejects.toMatchObject({ kind: "unreachable" });
  await upstream.close();
});

test("reads fail after an abort even if the runtime's fetch would continue", async () => {
  const body = new ReadableStream({
    pull: (controller) => controller.enqueue(new Uint8Array(1)),
  });
  const abort = new AbortController();
  const response = await createFetchTransport(async () => new Response(body))({
    method: "GET",
    url: "http://engine/",
    headers: {},
    connectTimeoutMs: CONNECT_TIMEOUT_MS,
    signal: abort.signal,
  });
  await read(response);
  abort.abort(new Error("left"));
  await expect(read(response)).rejects.toThrow("left");
});

const reading = new WeakMap<TransportResponse, PushStreamIterator<Uint8Array>>();

/** The next bytes of the body, undefined at the end. */
async function read(response: TransportResponse): Promise<Uint8Array | undefined> {
  const reader =
    reading.get(response) ??
    createPushStream<Uint8Array>((take) => response.pump((bytes) => take(bytes.slice())))[
      Symbol.asyncIterator
    ]();
  reading.set(response, reader);
  const { value } = await reader.next();
  return value ?? undefined;
}

async function readPieces(response: TransportResponse): Promise<string[]> {
  const pieces: string[] = [];
  for (let bytes = await read(response); bytes; bytes = await read(response)) {
    pieces.push(text(bytes));
  }
  return pieces;
}

async function readAll(response: TransportResponse): Promise<string> {
  return (await readPieces(response)).join("");
}

function text(bytes: Uint8Array | undefined): string {
  return new TextDecoder().decode(bytes);
}

async function failure(promise: Promise<unknown>): Promise<{ kind: string; message: string }> {
  const error: unknown = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof EngineError)) throw new Error(`not an EngineError: ${String(error)}`);
  return { kind: error.kind, message: error.message };
}

function countListeners(signal: AbortSignal): () => number {
  let count = 0;
  const add = signal.addEventListener.bind(signal);
  const remove = signal.removeEventListener.bind(signal);
  signal.addEventListener = (...args: Parameters<typeof add>) => {
    count += 1;
    add(...args);
  };
  signal.removeEventListener = (...args: Parameters<typeof remove>) => {
    count -= 1;
    remove(...args);
  };
  return () => count;
}
