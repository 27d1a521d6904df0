/**
 * Connects to an MCP server that is a program on this machine. The protocol's own package reads without a limit, and stops only
 * the program itself.
 *
 * A program may answer requests, and send a few messages of its own. A program that sends more, or does not read, is stopped
 * together with all its child processes.
 */
import { type ChildProcess, spawn } from "node:child_process";
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { McpUnavailable } from "../../tools/mcp/connection.ts";
import { weigh } from "../../tools/read-bounded.ts";
import { Allowance } from "./allowance.ts";
import { once } from "node:events";
import { waitAtMost } from "../../streams/timers.ts";

interface StdioProgram {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** Maximum bytes of one message, and of the messages that wait to be read by the program. */
const MAX_MESSAGE_BYTES = 4_000_000;
/** Limits of messages that answer no request: at once, and each second. A chatty server sends a few dozen during a call. */
const MESSAGES = [1000, 20] as const;
const MESSAGE_BYTES = [MAX_MESSAGE_BYTES, 100_000] as const;
/** Time to end after its stdin is closed, and again after SIGTERM. */
const PATIENCE_MS = 1000;
/** Maximum elements of a list in a result. */
const MAX_ELEMENTS = 1000;

export class StdioTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  /** `stderr` and `pid`, by which the protocol's client recognizes a program. */
  readonly stderr = null;
  readonly #program: StdioProgram;
  readonly #messages = new Allowance(...MESSAGES);
  readonly #bytes = new Allowance(...MESSAGE_BYTES);
  /** Ids of unanswered requests. */
  readonly #pending = new Set<unknown>();
  #child: ChildProcess | undefined;
  #line: Buffer[] = [];
  #length = 0;
  #isClosed = false;

  constructor(program: StdioProgram) {
    this.#program = program;
  }

  get pid(): number | null {
    return this.#child?.pid ?? null;
  }

  start(): Promise<void> {
    const { command, args, env } = this.#program;
    const child = spawn(command, args, {
      env: { ...env },
      stdio: ["pipe", "pipe", "ignore"],
      // A process group, by which all child processes are stopped.
      detached: process.platform !== "win32",
      windowsHide: true,
    });
    this.#child = child;
    child.stdin?.on("error", () => undefined);
    child.stdout?.on("error", () => undefined);
    child.stdout?.on("data", (chunk: Buffer) => this.#read(chunk));
    child.once("exit", () => void this.close());
    return new Promise((resolve, reject) => {
      child.once("spawn", resolve);
      child.once("error", (error) => {
        reject(error);
        void this.close();
      });
    });
  }

  send(message: JSONRPCMessage): Promise<void> {
    const stdin = this.#child?.stdin;
    if (this.#isClosed || !stdin) return Promise.reject(new McpUnavailable("It is not running."));
    if ("id" in message && "method" in message) this.#pending.add(message.id);
    stdin.write(`${JSON.stringify(message)}\n`);
    if (stdin.writableLength > MAX_MESSAGE_BYTES) this.#fail("It does not read what it is sent.");
    return Promise.resolve();
  }

  close(): Promise<void> {
    return this.#end(PATIENCE_MS);
  }

  #fail(reason: string): void {
    this.onerror?.(new McpUnavailable(reason));
    void this.#end(0);
  }

  async #end(patienceMs: number): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#line = [];
    this.#pending.clear();
    // Further output of the program is not read.
    this.#child?.stdout?.removeAllListeners("data").resume();
    this.onclose?.();
    if (this.#child !== undefined) await stopTree(this.#child, patienceMs);
  }

  #read(chunk: Buffer): void {
    let rest = chunk;
    for (let at = rest.indexOf(10); at >= 0 && !this.#isClosed; at = rest.indexOf(10)) {
      this.#line.push(rest.subarray(0, at));
      const line = Buffer.concat(this.#line);
      this.#line = [];
      this.#length = 0;
      this.#accept(line);
      rest = rest.subarray(at + 1);
    }
    if (this.#isClosed) return;
    this.#length += weigh(rest);
    this.#line.push(rest);
    if (this.#length > MAX_MESSAGE_BYTES) this.#fail("It sent a message of more than 4 MB.");
  }

  #accept(line: Buffer): void {
    const message = parseMessage(line);
    const isAnswer = message !== undefined && !("method" in message) && "id" in message;
    const isAwaited = isAnswer && this.#pending.delete(message.id);
    if (!isAwaited && !(this.#messages.take(1) && this.#bytes.take(line.length))) {
      this.#fail("It sends messages without end.");
    } else if (message !== undefined && isAnswer === isAwaited) {
      this.onmessage?.(message);
    }
  }
}

/** Undefined: the line is not a message. */
function parseMessage(line: Buffer): JSONRPCMessage | undefined {
  try {
    const value: unknown = JSON.parse(line.toString("utf8"));
    return isMessage(value) ? withShortLists(value) : undefined;
  } catch {
    return undefined;
  }
}

/** Shortens lists: the protocol's client visits each element, and the gateway uses a few. */
function withShortLists(message: JSONRPCMessage): JSONRPCMessage {
  if (!("result" in message)) return message;
  const result: Record<string, unknown> = { ...message.result };
  for (const name of ["tools", "content"]) {
    const list = result[name];
    if (Array.isArray(list)) result[name] = list.slice(0, MAX_ELEMENTS);
  }
  return { ...message, result };
}

/** Whether the value has the form of a message. The protocol's client checks the rest. */
function isMessage(value: unknown): value is JSONRPCMessage {
  return typeof value === "object" && value !== null && "jsonrpc" in value;
}

/**
 * Closes the program's stdin, then sends SIGTERM, then SIGKILL, each after this number of milliseconds. Resolves when the program
 * has exited and the rest of its group is killed.
 */
async function stopTree(child: ChildProcess, patienceMs: number): Promise<void> {
  const { pid } = child;
  if (pid === undefined) return;
  const hasExited = child.exitCode !== null || child.signalCode !== null;
  const exited = hasExited ? Promise.resolve() : once(child, "exit").then(() => undefined);
  child.stdin?.end();
  await waitAtMost(exited, patienceMs);
  signalGroup(child, pid, "SIGTERM");
  await waitAtMost(exited, patienceMs);
  signalGroup(child, pid, "SIGKILL");
  await exited;
  child.stdin?.destroy();
  child.stdout?.destroy();
}

function signalGroup(child: ChildProcess, pid: number, signal: "SIGTERM" | "SIGKILL"): void {
  try {
    process.kill(-pid, signal);
  } catch {
    // The group is empty, or the system has no groups.
    child.kill(signal);
  }
}
