/**
 * The scripted engine, in a separate process: vLLM's wire format without a model.
 *
 * `bulk` writes as fast as the other side reads. `paced` sends each stream a token every `1 / tokensPerSecond` seconds:
 * all streams in lockstep, like an engine's step (`step`), or staggered (`spread`).
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Socket } from "node:net";

import { closingEvents, fillIn, planCompletion, stopIdOf, tokenEvent } from "./completion.ts";
import type { Planned, Shape } from "./completion.ts";
import { MODEL } from "./requests.ts";
import { nowMs, wordFor } from "./words.ts";

/** The answer to every request from now on. `endless`: bulk without an end, for slow readers. */
export type Script =
  | { readonly mode: "bulk" | "endless"; readonly shape: Shape; readonly tokens: number }
  | PacedScript;

export interface PacedScript {
  readonly mode: "paced";
  readonly shape: Shape;
  readonly tokens: number;
  readonly tokensPerSecond: number;
  readonly phase: "step" | "spread";
}

export interface UpstreamStats {
  /** Tokens written to sockets. For a bulk answer in flight, the tokens that its socket has accepted. */
  readonly tokens: number;
  /** Tokens by the port of the stream's connection. */
  readonly tokensByPort: Readonly<Record<number, number>>;
  readonly openStreams: number;
  /** Streams whose reader disconnected before the end. */
  readonly abandoned: number;
}

/** `spread` divides the interval between two tokens of a stream into this many moments. */
const PHASES = 20;
/** An engine that is further behind skips the tokens it has not sent, as a slow one generates fewer. */
const MAX_DELAY_MS = 100;
/** Bulk answers go out in pieces of this size, so that a slow reader is noticed. */
const SLICE_BYTES = 64 * 1024;
const LAST_CHUNK = "0\r\n\r\n";

/**
 * A command of the parent: sets a new script, requests the counters, opens a further port, whose tokens are counted
 * separately, or lets only paced streams of these ports continue until the next script.
 */
export type UpstreamCommand =
  | Script
  | "stats"
  | "listen"
  | { readonly mode: "only"; readonly ports: readonly number[] };

/** A complete answer as frames. */
interface Bulk {
  readonly of: Script;
  readonly bytes: Buffer;
  readonly tokens: number;
}

interface PacedStream {
  readonly socket: Socket;
  readonly response: ServerResponse;
  readonly port: number;
  readonly planned: readonly Planned[];
  readonly shape: Shape;
  at: number;
}

let script: Script = { mode: "bulk", shape: "answer", tokens: 4 };
let bulk: Bulk | undefined;
const tokensByPort: Record<number, number> = {};
let abandoned = 0;
const open = new Set<Socket>();
let nextPhase = 0;
/** The streams of each phase, by port. */
const phases = Array.from({ length: PHASES }, () => new Map<number, Set<PacedStream>>());
/** The ports whose paced streams are not paused. Undefined: all. */
let only: readonly number[] | undefined;
let steps = 0;
let heartbeat: NodeJS.Timeout | undefined;

process.on("message", (command: UpstreamCommand) => {
  if (command === "listen") return listen(0);
  if (command !== "stats" && command.mode === "only") {
    only = command.ports;
  } else if (command !== "stats") {
    script = command;
    only = undefined;
    // Connections that a contender has left open are closed here.
    for (const stream of open) stream.destroy();
    startBeat();
  }
  process.send?.(toStats());
});
process.on("disconnect", () => process.exit());
listen(Number(process.argv[2] ?? 0));

/** Sends the parent the port. */
function listen(port: number): void {
  const server = createServer((request, response) => {
    // Only small bodies are parsed: a probe's is one.
    let body = "";
    const isSmall = Number(request.headers["content-length"]) < 2048;
    if (isSmall) request.setEncoding("latin1").on("data", (text: string) => (body += text));
    else request.resume();
    request.once("end", () => answer(request, response, isProbe(body) ? PROBED : script));
  });
  server.keepAliveTimeout = 60_000;
  server.on("connection", (socket) => socket.setNoDelay(true));
  server.listen(port, "127.0.0.1", () => {
    const address = server.address();
    if (typeof address === "object") process.send?.(address?.port);
  });
}

function toStats(): UpstreamStats {
  const tokens = Object.values(tokensByPort).reduce((sum, each) => sum + each, 0);
  return {
    tokens: Math.round(tokens),
    tokensByPort,
    openStreams: open.size,
    abandoned,
  };
}

/**
 * Whether the body is a gateway's probe: at its start a gateway requests one token, and waits for the end of the
 * answer.
 */
function isProbe(body: string): boolean {
  return /"max_tokens":1[,}]/.test(body);
}

const PROBED: Script = { mode: "bulk", shape: "answer", tokens: 1 };

function answer(request: IncomingMessage, response: ServerResponse, by: Script): void {
  if (request.url === "/v1/models") {
    return reply(response, { object: "list", data: [{ id: MODEL, max_model_len: 131_072 }] });
  }
  if (request.method !== "POST") return reply(response, { version: "0.0.0" });
  const { socket } = request;
  open.add(socket);
  response.once("close", () => {
    open.delete(socket);
    if (!response.writableFinished) abandoned++;
  });
  // Chunks are framed here: a `write` of node:http for each token costs twice as much.
  response.writeHead(200, {
    "content-type": "text/event-stream; charset=utf-8",
    "transfer-encoding": "chunked",
  });
  response.flushHeaders();
  response.chunkedEncoding = false;
  if (by.mode === "paced") pace(socket, response, by);
  else writeBulk(socket, response, by);
}

function writeBulk(socket: Socket, response: ServerResponse, of: Script): void {
  if (bulk?.of !== of) bulk = toBulk(of);
  const { bytes, tokens: total } = bulk;
  const port = portOf(socket);
  let at = 0;
  const write = (): void => {
    while (at < bytes.length && !socket.destroyed) {
      const slice = bytes.subarray(at, at + SLICE_BYTES);
      at += slice.length;
      count(port, (total * slice.length) / bytes.length);
      if (at === bytes.length && of.mode === "endless") at = 0;
      if (!socket.write(slice)) {
        socket.once("drain", write);
        return;
      }
    }
    response.end();
  };
  write();
}

function toBulk(of: Script): Bulk {
  const words = fillIn(planCompletion(of.shape, of.tokens));
  const chunks = words.map((word) => toChunk(tokenEvent(word)));
  if (of.mode !== "endless") {
    const closing = closingEvents(stopIdOf(of.shape), words.length + 1);
    chunks.push(...closing.map((event) => toChunk(event)), LAST_CHUNK);
  }
  return { of, bytes: Buffer.from(chunks.join("")), tokens: words.length + 1 };
}

function pace(socket: Socket, response: ServerResponse, of: PacedScript): void {
  const planned = planCompletion(of.shape, of.tokens);
  const port = portOf(socket);
  const stream: PacedStream = { socket, response, port, planned, shape: of.shape, at: 0 };
  const phase = phases[of.phase === "spread" ? nextPhase++ % PHASES : 0];
  const streams = phase?.get(port) ?? new Set();
  phase?.set(port, streams.add(stream));
  response.once("close", () => streams.delete(stream));
}

/** A step of the engine: a token to each stream. Each time, another port's streams come first. */
function step(phase: ReadonlyMap<number, ReadonlySet<PacedStream>>): void {
  const ports = [...phase].filter(([port]) => only?.includes(port) ?? true);
  steps++;
  for (let turn = 0; turn < ports.length; turn++) {
    const [, streams = []] = ports[(steps + turn) % ports.length] ?? [];
    for (const stream of streams) sendNext(stream);
  }
}

function startBeat(): void {
  clearTimeout(heartbeat);
  if (script.mode !== "paced") return;
  const interval = 1000 / script.tokensPerSecond / PHASES;
  let due = nowMs();
  let phase = 0;
  const tick = (): void => {
    const now = nowMs();
    due = Math.max(due, now - MAX_DELAY_MS);
    for (; due <= now; due += interval) {
      step(phases[phase] ?? new Map());
      phase = (phase + 1) % PHASES;
    }
    heartbeat = setTimeout(tick, Math.max(0, due - nowMs()));
  };
  tick();
}

function sendNext(stream: PacedStream): void {
  const { socket, response, port, planned, shape } = stream;
  const next = planned[stream.at++];
  count(port, 1);
  if (next !== undefined) {
    socket.write(toChunk(tokenEvent(next === "word" ? wordFor(nowMs()) : next)));
    return;
  }
  const closing = closingEvents(stopIdOf(shape), planned.length + 1);
  socket.write(closing.map((event) => toChunk(event)).join("") + LAST_CHUNK);
  response.end();
}

function count(port: number, tokens: number): void {
  tokensByPort[port] = (tokensByPort[port] ?? 0) + tokens;
}

function portOf(socket: Socket): number {
  return socket.localPort ?? 0;
}

function toChunk(event: string): string {
  return `${Buffer.byteLength(event).toString(16)}\r\n${event}\r\n`;
}

function reply(response: ServerResponse, body: object): void {
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));
}
