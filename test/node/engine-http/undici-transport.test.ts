/** How the HTTP client for engines uses its connections. `test/engines/transport.test.ts` tests the common behaviour of clients. */
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import { createServer, type Server, type Socket } from "node:net";
import { setImmediate as nextTurn, setTimeout as pause } from "node:timers/promises";

import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { createUndiciTransport, type UndiciTransport } from "../../../src/node/index.ts";
import { eventually } from "../../helpers/eventually.ts";
import { listenAnywhere } from "../../helpers/listen.ts";

type TransportRequest = Parameters<UndiciTransport>[0];
type TransportResponse = Awaited<ReturnType<UndiciTransport>>;

/** Connections that a server has accepted, and the data of each. */
interface Accepted {
  readonly socket: Socket;
  received: string;
}

const OK = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
const CHUNKED = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";

let server: Server;
let port: number;
let accepted: Accepted[];
/** Called with each read. The default answers every request. */
let onData: (connection: Accepted, data: string) => void | Promise<void>;
let transport: UndiciTransport;

beforeEach(async () => {
  accepted = [];
  onData = ({ socket }) => void socket.write(OK);
  server = createServer((socket) => {
    const connection = { socket, received: "" };
    accepted.push(connection);
    socket.setNoDelay(true);
    socket.on("error", () => {});
    socket.on("data", (data) => {
      connection.received += data.toString("latin1");
      void onData(connection, data.toString("latin1"));
    });
  });
  port = await listenAnywhere(server);
  transport = createUndiciTransport();
});

afterEach(async () => {
  await transport.destroy();
  for (const { socket } of accepted) socket.destroy();
  server.close();
});

function send(request: Partial<TransportRequest> = {}): Promise<TransportResponse> {
  return transport({
    method: "POST",
    url: `http://127.0.0.1:${port}/v1/completions`,
    headers: { "content-type": "application/json" },
    body: "{}",
    connectTimeoutMs: 5000,
    signal: new AbortController().signal,
    ...request,
  });
}

async function read(response: TransportResponse): Promise<string> {
  let text = "";
  await response.pump((bytes) => {
    text += Buffer.from(bytes).toString("latin1");
    return true;
  });
  return text;
}

async function closed(connection: Accepted | undefined): Promise<void> {
  if (connection?.socket.destroyed === false) await once(connection.socket, "close");
}

/** The answer, once its connection can be used again: undici lets it rest for a turn of the event loop. */
async function ask(request?: Partial<TransportRequest>): Promise<string> {
  const text = await read(await send(request));
  await nextTurn();
  await nextTurn();
  return text;
}

describe("a connection", () => {
  test("is used for one request at a time, and then for the next", async () => {
    onData = ({ socket }) => void setTimeout(() => socket.write(OK), 20);
    await Promise.all([ask(), ask(), ask()]);
    expect(accepted).toHaveLength(3);
    await Promise.all([ask(), ask(), ask()]);
    expect(accepted).toHaveLength(3);
  });

  test("that the server has closed while it was idle is not used", async () => {
    await ask();
    accepted[0]?.socket.end();
    await closed(accepted[0]);
    expect(await ask()).toBe("ok");
    expect(accepted).toHaveLength(2);
  });

  test("that the server closes when the request arrives is unreachable: nothing is sent twice", async () => {
    await ask();
    onData = ({ socket }) => void socket.destroy();
    await expect(ask()).rejects.toMatchObject({ kind: "unreachable" });
    expect(accepted.map(({ received }) => received.split("POST").length - 1)).toEqual([2]);
  });

  test("on which bytes arrive without a request is closed", async () => {
    await ask();
    accepted[0]?.socket.write(OK.replace("ok", "no"));
    await closed(accepted[0]);
    expect(await ask()).toBe("ok");
  });

  test("on which such bytes have arrived unread is not used for the next request", async () => {
    await ask();
    // The request is made in the same turn of the event loop, before the surplus answer is read.
    accepted[0]?.socket.write(OK.replace("ok", "no"));
    expect(await ask()).toBe("ok");
    expect(accepted).toHaveLength(2);
  });

  test.each([
    ["says that it closes", OK.replace("\r\n\r\n", "\r\nconnection: close\r\n\r\n")],
    ["keeps it for a second", OK.replace("\r\n\r\n", "\r\nkeep-alive: timeout=1\r\n\r\n")],
    ["speaks HTTP/1.0", OK.replace("1.1", "1.0")],
    ["sends more than its answer", `${OK}HTTP/1.1 200 OK\r\n`],
  ])("is closed after the answer of a server that %s", async (_, answer) => {
    onData = ({ socket }) => void socket.write(answer);
    expect(await ask()).toBe("ok");
    expect(await ask()).toBe("ok");
    expect(accepted).toHaveLength(2);
  });

  test("is kept when a request is aborted before it was sent", async () => {
    await ask();
    const abort = new AbortController();
    const pending = send({ signal: abort.signal });
    abort.abort(new Error("left"));
    await expect(pending).rejects.toThrow("left");
    await nextTurn();
    expect(await ask()).toBe("ok");
    expect(accepted.map(({ received }) => received.split("POST").length - 1)).toEqual([2]);
  });

  test("is reached by either address of a name", async () => {
    expect(await ask({ url: `http://localhost:${port}/` })).toBe("ok");
    expect(await ask({ url: `http://LOCALHOST:${port}/` })).toBe("ok");
    expect(accepted).toHaveLength(1);
  });

  test("is closed with the client, as are those in use", async () => {
    await ask();
    onData = () => {};
    const waiting = Promise.allSettled([send(), send()]);
    await eventually(() => expect(accepted).toHaveLength(2));
    await transport.destroy();
    const failed = { status: "rejected", reason: { kind: "unreachable" } };
    expect(await waiting).toMatchObject([failed, failed]);
    await expect(ask()).rejects.toMatchObject({ kind: "unreachable" });
    await Promise.all(accepted.map(closed));
  });
});

test("the streams of many connections get their own bytes", async () => {
  const lines = 200;
  onData = ({ socket }, data) => {
    const name = /x-name: (\d+)/.exec(data)?.[1] ?? "";
    socket.write(CHUNKED);
    void (async () => {
      for (let line = 0; line < lines; line++) {
        const text = `${name}:${line}:${name.repeat(line)}\n`;
        // A packet may hold half a chunk, or parts of two.
        const chunk = `${text.length.toString(16)}\r\n${text}\r\n`;
        const half = line % chunk.length;
        socket.write(chunk.slice(0, half));
        if (line % 3 === 0) await pause(0);
        socket.write(chunk.slice(half));
      }
      socket.write("0\r\n\r\n");
    })();
  };
  const texts = await Promise.all(
    Array.from({ length: 16 }, async (_, at) => {
      const response = await send({ headers: { "x-name": String(at) } });
      if (at % 4 === 0) await pause(20);
      const pieces: Buffer[] = [];
      await response.pump((bytes) => {
        pieces.push(Buffer.from(bytes));
        return at % 2 === 0 || pause(1).then(() => true);
      });
      return Buffer.concat(pieces).toString();
    }),
  );
  texts.forEach((text, at) => {
    const expected = Array.from(
      { length: lines },
      (_, n) => `${at}:${n}:${String(at).repeat(n)}\n`,
    );
    expect(text).toBe(expected.join(""));
  });
});

test("the chunks of a read are joined without new memory", async () => {
  const chunk = `7530\r\n${"x".repeat(30_000)}\r\n`;
  let received = Promise.withResolvers<void>();
  onData = async ({ socket }) => {
    socket.write(CHUNKED);
    for (let round = 0; round < 4; round++) {
      received = Promise.withResolvers();
      socket.write(chunk + chunk);
      await received.promise;
    }
    socket.end("0\r\n\r\n");
  };
  let size = 0;
  const memory = new Set<ArrayBufferLike>();
  const response = await send();
  await response.pump((bytes) => {
    size += bytes.length;
    if (bytes.length > 30_000) memory.add(bytes.buffer);
    if (size % 60_000 === 0) received.resolve();
    return true;
  });
  expect(size).toBe(240_000);
  expect(memory.size).toBe(1);
});

describe("sends", () => {
  test("the headers that a tracer of undici adds", async () => {
    const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    const trace = (message: unknown): void => {
      if (isCreated(message)) message.request.addHeader("traceparent", traceparent);
    };
    subscribe("undici:request:create", trace);
    try {
      expect(await ask()).toBe("ok");
    } finally {
      unsubscribe("undici:request:create", trace);
    }
    expect(accepted[0]?.received).toContain(`traceparent: ${traceparent}`);
  });

  test.each<[string, Partial<TransportRequest>]>([
    ["a host of its own", { headers: { Host: "model.example" } }],
    ["characters beyond ASCII", { headers: { "x-a": "\u00fc" } }],
  ])("a header with %s", async (_, request) => {
    expect(await ask(request)).toBe("ok");
    expect(accepted[0]?.received).toContain(Object.values(request.headers ?? {})[0]);
  });

  test("nothing with a header that would begin another one", async () => {
    await expect(ask({ headers: { "x-a": "1\r\nx-b: 2" } })).rejects.toMatchObject({
      kind: "unreachable",
    });
    expect(accepted.map(({ received }) => received).join("")).toBe("");
  });
});

/** Whether undici published this message for the creation of a request. */
function isCreated(
  message: unknown,
): message is { request: { addHeader(name: string, value: string): void } } {
  return typeof message === "object" && message !== null && "request" in message;
}
