/**
 * One interpreter in a process of its own. Whatever the process does, its answers are bounded and validated, and it can
 * be killed at any time.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { constants, setPriority } from "node:os";
import { boundText, MAX_OUTPUT } from "../../tools/bounded-text.ts";
import { FILE_LIMITS, type PythonOutcome } from "../../tools/python/runtime.ts";
import type { Launch } from "./launch.ts";
import { hostReply, type HostOptions, type HostReply } from "./protocol.ts";

export interface Interpreter {
  /** False: the process has ended. */
  readonly alive: boolean;
  /** Runs code. Calls must not overlap. An abort kills the process. */
  run(code: string, signal: AbortSignal): Promise<Omit<PythonOutcome, "restarted">>;
  /** Kills the process. Resolves when it has exited. */
  kill(): Promise<void>;
}

export interface InterpreterOptions {
  readonly launch: Launch;
  readonly host: HostOptions;
  readonly readable: readonly string[];
  readonly timeoutMs: number;
  /** A process that uses more memory is killed. Only on Linux. */
  readonly residentBytes: number;
}

/** Maximum length of an answer: the output with every character escaped, and the files in base64. */
const MAX_LINE = MAX_OUTPUT * 8 + FILE_LIMITS.allBytes * 2;
const START_TIMEOUT_MS = 120_000;
const WATCH_INTERVAL_MS = 200;
const NICENESS = constants.priority.PRIORITY_BELOW_NORMAL;

/** Resolves when the interpreter is ready. */
export async function startInterpreter(options: InterpreterOptions): Promise<Interpreter> {
  const child = spawnHost(options);
  const replies = readReplies(child);
  const gone = new Promise<void>((resolve) => child.once("close", () => resolve()));
  let alive = true;
  void gone.then(() => (alive = false));
  let calls = 0;

  async function kill(): Promise<void> {
    child.kill("SIGKILL");
    await gone;
  }

  const timer = setTimeout(() => child.kill("SIGKILL"), START_TIMEOUT_MS);
  const first = await replies.next();
  clearTimeout(timer);
  if (first?.type !== "ready") {
    await kill();
    throw new Error(`The Python interpreter did not start. ${replies.errorOutput()}`.trim());
  }

  return {
    get alive() {
      return alive;
    },
    kill,
    async run(code, signal) {
      signal.throwIfAborted();
      const id = ++calls;
      let ended: "timeout" | "memory" | undefined;
      const stop = (reason: typeof ended) => {
        ended ??= reason;
        child.kill("SIGKILL");
      };
      const onAbort = () => stop(undefined);
      const timeout = setTimeout(() => stop("timeout"), options.timeoutMs);
      const watch = watchMemory(child, options.residentBytes, () => stop("memory"));
      signal.addEventListener("abort", onAbort, { once: true });
      try {
        child.stdin?.write(`${JSON.stringify({ id, code })}\n`);
        const reply = await replies.next();
        signal.throwIfAborted();
        if (reply?.type === "result" && reply.id === id) return toOutcome(reply);
        await kill();
        const output = reply?.type === "crash" ? boundText(reply.output) : "";
        return { status: ended ?? "crash", output, files: [], withheld: [] };
      } finally {
        clearTimeout(timeout);
        clearInterval(watch);
        signal.removeEventListener("abort", onAbort);
        if (signal.aborted) await kill();
      }
    },
  };
}

/** The snapshot that the process writes to stdout. */
export async function makeSnapshot(options: InterpreterOptions): Promise<Buffer> {
  const child = spawnHost(options);
  const chunks: Buffer[] = [];
  let errorOutput = "";
  child.stdout?.on("data", (chunk: Buffer) => chunks.push(chunk));
  child.stderr?.on("data", (chunk: Buffer) => (errorOutput = toErrorOutput(errorOutput + chunk)));
  const timer = setTimeout(() => child.kill("SIGKILL"), START_TIMEOUT_MS);
  const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
  clearTimeout(timer);
  if (code !== 0 || chunks.length === 0) {
    throw new Error(`Pyodide did not make a snapshot. ${errorOutput}`.trim());
  }
  return Buffer.concat(chunks);
}

function spawnHost({ launch, host, readable }: InterpreterOptions): ChildProcess {
  const child = spawn(launch.command, launch.toArguments(host, readable), {
    env: launch.environment,
    stdio: "pipe",
    windowsHide: true,
  });
  // Handled by `close`, which follows.
  child.on("error", () => undefined);
  child.stdin?.on("error", () => undefined);
  lowerPriority(child);
  return child;
}

/** Lower priority, so that computations do not slow down the gateway. */
function lowerPriority({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    setPriority(pid, NICENESS);
  } catch {
    // Not permitted here, or the process has exited: it works without.
  }
}

interface Replies {
  /** The next answer. Undefined: the process has exited, or has sent something that is not an answer. */
  next(): Promise<HostReply | undefined>;
  /** The beginning of its output on stderr. */
  errorOutput(): string;
}

/** Reads one answer at a time; a line that is too long or malformed ends the process. */
function readReplies(child: ChildProcess): Replies {
  let line: Buffer[] = [];
  let length = 0;
  let ended = false;
  let errorOutput = "";
  const ready: (HostReply | undefined)[] = [];
  let waiting: ((reply: HostReply | undefined) => void) | undefined;

  function give(reply: HostReply | undefined): void {
    if (reply === undefined) child.kill("SIGKILL");
    if (waiting) waiting(reply);
    // No request is pending: further lines were written by the code and are ignored.
    else if (ready.length === 0) ready.push(reply);
    waiting = undefined;
  }

  child.stdout?.on("data", (chunk: Buffer) => {
    let rest = chunk;
    for (let end = rest.indexOf(10); end >= 0; end = rest.indexOf(10)) {
      line.push(rest.subarray(0, end));
      give(parseReply(Buffer.concat(line).toString("utf8")));
      line = [];
      length = 0;
      rest = rest.subarray(end + 1);
    }
    length += rest.length;
    if (length > MAX_LINE) child.kill("SIGKILL");
    else line.push(rest);
  });
  child.stderr?.on("data", (chunk: Buffer) => (errorOutput = toErrorOutput(errorOutput + chunk)));
  child.once("close", () => {
    ended = true;
    waiting?.(undefined);
    waiting = undefined;
  });

  return {
    next() {
      if (ready.length > 0) return Promise.resolve(ready.shift());
      if (ended) return Promise.resolve(undefined);
      return new Promise((resolve) => (waiting = resolve));
    },
    errorOutput: () => errorOutput,
  };
}

function parseReply(text: string): HostReply | undefined {
  try {
    return hostReply().parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}

function toOutcome({
  status,
  output,
  files,
  withheld,
}: Extract<HostReply, { type: "result" }>): Omit<PythonOutcome, "restarted"> {
  return {
    status,
    output: boundText(output),
    files: files.slice(0, FILE_LIMITS.files),
    withheld: withheld.slice(0, FILE_LIMITS.files),
  };
}

/**
 * The limits inside the process count Python's allocations. This checks the whole process, in case code gets around
 * them.
 */
function watchMemory(
  { pid }: ChildProcess,
  most: number,
  onExceeded: () => void,
): NodeJS.Timeout | undefined {
  if (process.platform !== "linux" || pid === undefined) return undefined;
  const path = `/proc/${pid}/statm`;
  async function check(): Promise<void> {
    const text = await readFile(path, "utf8").catch(() => "");
    const pages = Number(text.split(" ")[1] ?? 0);
    if (pages * LINUX_PAGE_BYTES > most) onExceeded();
  }
  return setInterval(() => void check(), WATCH_INTERVAL_MS);
}

const LINUX_PAGE_BYTES = 4096;

function toErrorOutput(text: string): string {
  return text.slice(0, 2000);
}
