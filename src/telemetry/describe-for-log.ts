/** Errors in the log. */
import { EngineError } from "../engines/engine-error.ts";
import { TurnError } from "../turn/turn-error.ts";
import type { LogFields } from "./log.ts";

/** The outcome of a turn with an error. `rejected`: its key has reached its own limit, without a failure. */
export function toFailure(error: unknown): "failed" | "rejected" {
  return error instanceof EngineError && error.kind === "tenant-limit" ? "rejected" : "failed";
}

/**
 * An error as log fields. An engine's message can quote a prompt, so it is included only where content is logged; otherwise its
 * length and a hash identify repeated messages. An unexpected error is logged as its stack without its message.
 */
export function describeForLog(error: unknown, { logContent = false } = {}): LogFields {
  if (error instanceof EngineError) {
    const { kind, backend, status, message, serverMessage } = error;
    const mayQuote = kind === "bad-request" || kind === "context-length";
    return {
      error: kind,
      ...(backend !== undefined && { backend }),
      ...(status !== undefined && { status }),
      ...((logContent || !mayQuote) && { message }),
      ...(serverMessage !== undefined && describeWords(serverMessage, logContent)),
    };
  }
  if (error instanceof TurnError) return { error: error.kind };
  if (!(error instanceof Error)) return { error: typeof error };
  const frames = error.stack?.split("\n").filter((line) => line.startsWith("    at ")) ?? [];
  return { error: error.name, stack: frames.map((line) => line.trim()) };
}

function describeWords(serverMessage: string, logContent: boolean): LogFields {
  if (logContent) return { serverMessage };
  return { serverMessageLength: serverMessage.length, serverMessageHash: hashWords(serverMessage) };
}

/**
 * A secret of this process, so that texts cannot be guessed from hashes. Created on first use: Workers allow no randomness at
 * start-up.
 */
let key: Uint32Array | undefined;

/** 64 bits as 16 hex digits. */
function hashWords(words: string): string {
  key ??= crypto.getRandomValues(new Uint32Array(2));
  const [first = 0, second = 0] = key;
  return hash(words, first) + hash(words, second);
}

/** FNV-1a from a secret start, with mixing, so that the end of the text does not reveal the start. */
function hash(words: string, start: number): string {
  let value = start;
  for (let at = 0; at < words.length; at++) {
    value = Math.imul(value ^ words.charCodeAt(at), 0x01000193);
  }
  value = Math.imul(value ^ (value >>> 16) ^ start, 0x85ebca6b);
  value = Math.imul(value ^ (value >>> 13), 0xc2b2ae35);
  return ((value ^ (value >>> 16)) >>> 0).toString(16).padStart(8, "0");
}
