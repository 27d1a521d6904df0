/** Work for a step counter: a reader of external bytes reads a text, in chunks. */
import childProcess, { ChildProcess } from "node:child_process";
import { IncomingMessage } from "node:http";
import { syncBuiltinESMExports } from "node:module";
import { Socket } from "node:net";
import { Duplex, PassThrough } from "node:stream";
import * as z from "zod";
import { readMessage } from "../../src/api/responses/socket-message.ts";
import { hasMoreValues } from "../../src/json-text.ts";
import { createRenderer } from "../../src/harmony/index.ts";
import { convertStream } from "../../src/node/cli/convert/convert-stream.ts";
import type { Format } from "../../src/node/cli/convert/transcript.ts";
import { readRecord } from "../../src/node/replay/read-record.ts";
import { createMcpServer } from "../../src/node/mcp/connect.ts";
import { StdioTransport } from "../../src/node/mcp/stdio-transport.ts";
import { Replies } from "../../src/node/python/replies.ts";
import { openWebSockets } from "../../src/node/server/web-sockets.ts";
import { runAtOnce } from "../../src/streams/slices.ts";

export type OutsideWork = Readonly<Record<"place" | "text" | "chunk", string>>;

const MAX_BYTES = 33_554_432;
/** Delay after which text that was read to its end has been parsed. */
const AFTER_MS = 200;
const NO_PAUSE = () => Promise.resolve();

const PLACES: Readonly<Record<string, (chunks: readonly Buffer[]) => unknown>> = {
  "MCP over stdio": readFromProgram,
  "MCP over HTTP, JSON": (chunks) => callTool("application/json", chunks),
  "MCP over HTTP, events": (chunks) => callTool("text/event-stream", chunks),
  "Python: answers": (chunks) => readFromPython(chunks),
  "Python: errors": (chunks) => readFromPython(chunks, "stderr"),
  "WebSocket: bytes": readFrames,
  "WebSocket: one message": (chunks) =>
    readFrames([toFrameHead(Buffer.concat(chunks).length), ...chunks]),
  "values of a body": (chunks) => countValues(Buffer.concat(chunks).toString("latin1")),
  "convert: harmony": (chunks) => convert("harmony", chunks),
  "convert: openchatml": (chunks) => convert("openchatml", chunks),
  "convert: chat": (chunks) => convert("chat", chunks),
  "captured file": (chunks) => attempt(() => readRecord(Buffer.concat(chunks).toString())),
};

export async function work({ place, text, chunk }: OutsideWork): Promise<void> {
  // Latin-1: each character is a byte.
  const bytes = Buffer.from(text, "latin1");
  const size = Number(chunk);
  const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
    bytes.subarray(index * size, (index + 1) * size),
  );
  await PLACES[place]?.(chunks);
}

function attempt(read: () => unknown): void {
  try {
    read();
  } catch {
    // Refused: that has its cost, too.
  }
}

/** A process without a program, whose output is written by the test. */
function silentProcess() {
  const streams = {
    stdin: new PassThrough().resume(),
    stdout: new PassThrough(),
    stderr: new PassThrough(),
  };
  // A signal to a process without a number would reach this one.
  return Object.assign(new ChildProcess(), streams, { kill: () => true });
}

async function readFromProgram(chunks: readonly Buffer[]): Promise<void> {
  const child = silentProcess();
  Reflect.set(childProcess, "spawn", () => child);
  syncBuiltinESMExports();
  const transport = new StdioTransport({ command: "", args: [], env: {} });
  void transport.start();
  for (const chunk of chunks) child.stdout.emit("data", chunk);
  await transport.close();
}

function readFromPython(chunks: readonly Buffer[], from: "stdout" | "stderr" = "stdout"): void {
  const child = silentProcess();
  const replies = new Replies(child);
  void replies.expect(() => true);
  for (const chunk of chunks) child[from].emit("data", chunk);
  replies.stop();
}

const called = z.object({ method: z.string(), id: z.unknown() });

/** Calls a tool of a server that answers with these bytes. */
async function callTool(type: string, chunks: readonly Buffer[]): Promise<void> {
  const server = createMcpServer({
    label: "s",
    target: { type: "http", url: "https://s.example/mcp", headers: {}, fetch: respond },
    timeoutMs: 60_000,
  });
  // Events without the answer would leave the call waiting.
  const over = new AbortController();
  await server.callTool("t", "{}", over.signal).catch(() => undefined);
  await server.close();

  async function* answer() {
    try {
      yield* chunks;
    } finally {
      setTimeout(() => over.abort(), AFTER_MS);
    }
  }

  function respond(_: string | URL, init?: RequestInit): Promise<Response> {
    const body = typeof init?.body === "string" ? init.body : "{}";
    const { method, id } = called.catch({ method: "", id: null }).parse(JSON.parse(body));
    const headers = { "content-type": type };
    if (method === "tools/call") {
      return Promise.resolve(new Response(ReadableStream.from(answer()), { headers }));
    }
    if (id === undefined) return Promise.resolve(new Response(null, { status: 202 }));
    if (method !== "initialize") {
      const error = { code: -32_601, message: "No such method" };
      return Promise.resolve(Response.json({ jsonrpc: "2.0", id, error }));
    }
    const result = {
      protocolVersion: "2025-06-18",
      capabilities: { tools: {} },
      serverInfo: { name: "s", version: "1" },
    };
    return Promise.resolve(Response.json({ jsonrpc: "2.0", id, result }));
  }
}

async function readFrames(chunks: readonly Buffer[]): Promise<void> {
  const sockets = await openWebSockets(MAX_BYTES);
  let next = 0;
  const connection = new Duplex({
    // One chunk is ready at a time, as at a socket whose client is slow.
    readableHighWaterMark: 1,
    read() {
      this.push(chunks[next++] ?? null);
    },
    write: (_chunk, _encoding, done) => done(),
  });
  const request = new IncomingMessage(new Socket());
  Object.assign(request, { method: "GET", url: "/" });
  Object.assign(request.headers, {
    upgrade: "websocket",
    connection: "upgrade",
    "sec-websocket-key": "AAAAAAAAAAAAAAAAAAAAAA==",
    "sec-websocket-version": "13",
  });
  const reads: Promise<unknown>[] = [];
  const closed = new Promise<void>((resolve) => {
    sockets?.server.handleUpgrade(request, connection, Buffer.alloc(0), (socket) => {
      sockets.server.emit("connection", socket, request);
      socket.on("error", () => {});
      socket.on("message", (data) => {
        if (!Buffer.isBuffer(data)) return;
        const read = readMessage(data.toString(), MAX_BYTES, NO_PAUSE);
        // Refused: that has its cost, too.
        reads.push(read.catch(() => undefined));
      });
      socket.on("close", () => resolve());
    });
  });
  await closed;
  await Promise.all(reads);
}

/** Counts values, with a limit so low that the whole text is scanned. */
function countValues(text: string): void {
  runAtOnce(hasMoreValues(text, text.length / 8));
}

/** The beginning of a masked frame with one message of text; the mask changes nothing. */
function toFrameHead(length: number): Buffer {
  const head = Buffer.from([0x81, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
  head.writeUInt32BE(length, 6);
  return head;
}

async function convert(from: Format, chunks: readonly Buffer[]): Promise<void> {
  const options = {
    from,
    to: from === "harmony" ? ("openchatml" as const) : ("harmony" as const),
    mode: undefined,
    mask: undefined,
    maskAs: "both" as const,
    lenient: true,
    strict: false,
    system: { identity: "A model." },
    renderer: createRenderer({}),
  };
  async function* input() {
    yield* chunks;
  }
  await convertStream(options, {
    input: input(),
    write: () => Promise.resolve(),
    onBadLine: () => Promise.resolve(),
    onLosses: () => Promise.resolve(),
    onProgress: () => {},
    maxLineBytes: 67_108_864,
  });
}
