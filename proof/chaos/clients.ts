/**
 * Clients of every kind, and the outcome of each: served, refused with a reason, ended with an error, or left without
 * one.
 */
import { connect, type Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import * as z from "zod";
import { findStreamProblem } from "../fuzz/check-response.ts";
import { AGENT_KINDS, runMessagesAgent, runResponsesAgent } from "./agents.ts";
import {
  type Asking,
  type Ended,
  MODEL,
  PATIENCE_MS,
  promptOf,
  refusal,
  request,
} from "./asking.ts";
import { answerText } from "./engine.ts";
import { parseEvents } from "../../test/helpers/replies.ts";

export interface Outcome extends Ended {
  readonly number: number;
  readonly kind: ClientKind;
  readonly ms: number;
}

export const CLIENT_KINDS = [
  "chat",
  "chat-stream",
  "chat-n",
  "responses",
  "responses-stream",
  "background",
  "socket",
  "leaver",
] as const;

export type ClientKind = (typeof CLIENT_KINDS)[number] | (typeof AGENT_KINDS)[number];

export async function ask(kind: ClientKind, asking: Asking): Promise<Outcome> {
  const started = performance.now();
  const ended = await send(kind, asking).catch((error: unknown): Ended => {
    const detail = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
    return { end: "defect", status: 0, detail };
  });
  return { number: asking.number, kind, ms: performance.now() - started, ...ended };
}

function send(kind: ClientKind, asking: Asking): Promise<Ended> {
  switch (kind) {
    case "chat":
      return post(asking, "/v1/chat/completions", { messages: messages(asking) });
    case "chat-stream":
      return stream(asking, "/v1/chat/completions", { messages: messages(asking) });
    case "chat-n":
      return stream(asking, "/v1/chat/completions", { messages: messages(asking), n: 3 });
    case "responses":
      return post(asking, "/v1/responses", { input: promptOf(asking), store: false });
    case "responses-stream":
      return stream(asking, "/v1/responses", { input: promptOf(asking) });
    case "background":
      return inBackground(asking);
    case "socket":
      return overSocket(asking);
    case "leaver":
      return leave(asking);
    case "responses-agent":
      return runResponsesAgent(asking);
    case "messages-agent":
      return runMessagesAgent(asking);
    default:
      return kind satisfies never;
  }
}

function messages(asking: Asking) {
  return [{ role: "user", content: promptOf(asking) }];
}

async function post(asking: Asking, path: string, body: object): Promise<Ended> {
  const signal = AbortSignal.timeout(PATIENCE_MS);
  const response = await fetch(asking.origin + path, request(asking, body, signal));
  const text = await response.text();
  const { status } = response;
  if (status !== 200) return refusal(status, text);
  if (text.includes(answerText(asking.words).trim()))
    return { end: "complete", status, detail: "" };
  const isReported = /"finish_reason":"error"|"status":"(failed|incomplete)"/.test(text);
  return { end: isReported ? "reported" : "defect", status, detail: text.slice(0, 300) };
}

async function stream(asking: Asking, path: string, body: object): Promise<Ended> {
  const signal = AbortSignal.timeout(PATIENCE_MS);
  const asked = request(asking, { ...body, stream: true }, signal);
  const response = await fetch(asking.origin + path, asked);
  const text = await response.text();
  const { status } = response;
  if (status !== 200) return refusal(status, text);
  return streamEnd(text, asking.words);
}

const streamed = z.object({
  type: z.string().optional(),
  delta: z.string().optional(),
  error: z.unknown().optional(),
  choices: z
    .array(
      z.object({
        index: z.number(),
        delta: z.object({ content: z.string().nullish() }),
        finish_reason: z.string().nullish(),
      }),
    )
    .optional(),
});

function streamEnd(text: string, words: number): Ended {
  const problem = findStreamProblem(text);
  if (problem !== undefined) return { end: "defect", status: 200, detail: problem.slice(0, 300) };
  const events = parseEvents(text, streamed);
  const texts = new Map<number, string>();
  let isReported = false;
  for (const { type, delta, error, choices = [] } of events) {
    isReported ||= error != null || type === "response.failed" || type === "response.incomplete";
    if (type === "response.output_text.delta") texts.set(0, (texts.get(0) ?? "") + delta);
    for (const choice of choices) {
      const { index, finish_reason: finish } = choice;
      isReported ||= finish === "error";
      texts.set(index, (texts.get(index) ?? "") + (choice.delta.content ?? ""));
    }
  }
  const expected = answerText(words);
  const isComplete = texts.size > 0 && [...texts.values()].every((each) => each === expected);
  const end = isReported ? "reported" : isComplete ? "complete" : "defect";
  return { end, status: 200, detail: end === "complete" ? "" : text.slice(-300) };
}

const stored = z.looseObject({ id: z.string(), status: z.string() });

async function inBackground(asking: Asking): Promise<Ended> {
  const signal = AbortSignal.timeout(PATIENCE_MS);
  const body = { input: promptOf(asking), background: true };
  const begun = await fetch(`${asking.origin}/v1/responses`, request(asking, body, signal));
  const text = await begun.text();
  if (begun.status !== 200) return refusal(begun.status, text);
  const { id } = stored.parse(JSON.parse(text));
  for (;;) {
    await pause(200);
    const answer = await fetch(`${asking.origin}/v1/responses/${id}`, {
      headers: { authorization: `Bearer ${asking.key}` },
      signal,
    });
    const said = await answer.text();
    if (answer.status !== 200) return { end: "defect", status: answer.status, detail: said };
    const { status } = stored.parse(JSON.parse(said));
    if (status === "completed") return { end: "complete", status: 200, detail: "" };
    if (status !== "queued" && status !== "in_progress") {
      return { end: "reported", status: 200, detail: status };
    }
  }
}

const socketEvent = z.looseObject({ type: z.string() });

/** Two responses on one WebSocket, one after the other. */
function overSocket(asking: Asking): Promise<Ended> {
  const socket = openSocket(asking);
  const { promise, resolve } = Promise.withResolvers<Ended>();
  const timer = setTimeout(() => {
    resolve({ end: "defect", status: 0, detail: "no end" });
  }, PATIENCE_MS);
  const create = JSON.stringify({
    type: "response.create",
    model: MODEL,
    input: promptOf(asking),
    store: false,
  });
  let responses = 0;
  let error = "";
  socket.addEventListener("open", () => socket.send(create));
  socket.addEventListener("message", ({ data }) => {
    const { type } = socketEvent.parse(JSON.parse(String(data)));
    if (type === "error" || type === "response.failed" || type === "response.incomplete") {
      error = String(data).slice(0, 300);
    } else if (type !== "response.completed") {
      return;
    }
    responses++;
    if (responses < 2) socket.send(create);
    else resolve({ end: error === "" ? "complete" : "reported", status: 101, detail: error });
  });
  socket.addEventListener("close", ({ code, reason }) => {
    // A proper close has a code and a reason.
    const isReported = code === 1000 || code === 1001 || code === 1012;
    resolve({
      end: isReported ? "reported" : "defect",
      status: 101,
      detail: `closed ${code} ${reason}`,
    });
  });
  return promise.finally(() => {
    clearTimeout(timer);
    socket.close();
  });
}

/**
 * Sends arbitrary messages one after the other; each must be answered, except those of a type that the gateway ignores. One
 * that is not text must end the connection; the next one goes over another. Returns a problem, if any.
 */
export function talk(
  asking: Asking,
  sent: readonly (string | Uint8Array<ArrayBuffer>)[],
): Promise<string | undefined> {
  const { promise, resolve } = Promise.withResolvers<string | undefined>();
  const unsent = [...sent];
  let socket: WebSocket;
  let last: string | Uint8Array<ArrayBuffer> | undefined;
  let timer: NodeJS.Timeout | undefined;
  const sendNext = () => {
    clearTimeout(timer);
    for (last = unsent.shift(); last !== undefined && isIgnored(last); last = unsent.shift()) {
      socket.send(last);
    }
    if (last === undefined) return resolve(undefined);
    timer = setTimeout(() => {
      resolve(`no answer to ${String(last).slice(0, 300)}`);
    }, PATIENCE_MS);
    socket.send(last);
  };
  const connectAgain = () => {
    socket = openSocket(asking);
    socket.addEventListener("open", sendNext);
    socket.addEventListener("message", ({ data }) => {
      const { type } = socketEvent.parse(JSON.parse(String(data)));
      if (String(data).includes("failed to handle")) {
        resolve(`a mistake of our own after ${String(last).slice(0, 300)}`);
      }
      if (LAST_EVENTS.has(type)) sendNext();
    });
    socket.addEventListener("close", ({ code }) => {
      if (code === UNSUPPORTED_DATA && typeof last === "object") return connectAgain();
      resolve(`closed with ${code} after ${String(last).slice(0, 300)}`);
    });
  };
  connectAgain();
  return promise.finally(() => {
    clearTimeout(timer);
    socket.close();
  });
}

/** The code of a WebSocket that was closed because of a message that is not text. */
const UNSUPPORTED_DATA = 1003;

/** A text message of another type than the one that creates a response. */
function isIgnored(message: string | Uint8Array): boolean {
  if (typeof message !== "string") return false;
  try {
    const { type } = socketEvent.parse(JSON.parse(message));
    return type !== "response.create";
  } catch {
    return false;
  }
}

const LAST_EVENTS = new Set([
  "response.completed",
  "response.failed",
  "response.incomplete",
  "error",
]);

function openSocket({ origin, key }: Asking): WebSocket {
  const url = `${origin.replace("http", "ws")}/v1/responses`;
  return new WebSocket(url, { headers: { authorization: `Bearer ${key}` } });
}

/** Disconnects in the middle of a stream, or before it has begun. */
async function leave(asking: Asking): Promise<Ended> {
  const abort = new AbortController();
  const timer = setTimeout(() => abort.abort(), 10 * (asking.number % 60));
  const body = { messages: messages(asking), stream: true, n: 1 + (asking.number % 4) };
  try {
    const asked = request(asking, body, abort.signal);
    const response = await fetch(`${asking.origin}/v1/chat/completions`, asked);
    await response.text();
    return { end: "disconnected", status: response.status, detail: "" };
  } catch (error) {
    if (abort.signal.aborted) return { end: "disconnected", status: 0, detail: "" };
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

/** A connection that requests a stream and never reads it. */
export async function stall(asking: Asking): Promise<Socket> {
  const body = JSON.stringify({ model: MODEL, messages: messages(asking), stream: true });
  const socket = connect(Number(new URL(asking.origin).port), "127.0.0.1");
  socket.on("error", () => {});
  socket.pause();
  socket.write(
    "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n" +
      `authorization: Bearer ${asking.key}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
  await pause(0);
  return socket;
}

/** A connection that sends half a head, or half a body, and nothing more. */
export function sendHalf(origin: string, part: "head" | "body"): Socket {
  const socket = connect(Number(new URL(origin).port), "127.0.0.1");
  socket.on("error", () => {});
  socket.resume();
  const head = "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\n";
  const rest = 'content-type: application/json\r\ncontent-length: 500\r\n\r\n{"model":';
  socket.write(part === "head" ? head : head + rest);
  return socket;
}

/** The lines of a handshake that is accepted, without the last, empty one. */
export function handshake({ key }: Pick<Asking, "key">): string[] {
  return [
    "GET /v1/responses HTTP/1.1",
    "host: localhost",
    `authorization: Bearer ${key}`,
    "connection: upgrade",
    "upgrade: websocket",
    "sec-websocket-version: 13",
    `sec-websocket-key: ${"A".repeat(22)}==`,
  ];
}

/** Sends a head as it is. Resolves with the connection and the status line, or without a line if it was closed. */
export async function sendHead(
  origin: string,
  lines: readonly string[],
): Promise<{ readonly socket: Socket; readonly status: string }> {
  const socket = connect(Number(new URL(origin).port), "127.0.0.1");
  socket.on("error", () => {});
  socket.write(`${lines.join("\r\n")}\r\n\r\n`);
  const status = await new Promise<string>((resolve) => {
    socket.once("data", (data) => resolve(String(data).split("\r\n", 1)[0] ?? ""));
    socket.once("close", () => resolve(""));
  });
  return { socket, status };
}
