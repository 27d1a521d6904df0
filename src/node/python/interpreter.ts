/**
 * One interpreter in a process of its own. The process is untrusted: its answers are bounded and validated, and it can be killed
 * at any time.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { constants, setPriority } from "node:os";
import { boundText } from "../../tools/bounded-text.ts";
import type { PythonOutcome } from "../../tools/python/runtime.ts";
import type { Launch } from "./launch.ts";
import type { HostOptions, HostReply } from "./protocol.ts";
import { Replies } from "./replies.ts";
import { watchProcess } from "./watch-process.ts";

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
  /** Maximum resident memory. A process above it is killed. Only on Linux. */
  readonly residentBytes: number;
  /** Maximum CPU time between two calls, when the process should be idle. A process above it is killed. Only on Linux. */
  readonly idleCpuMs: number;
}

const START_TIMEOUT_MS = 120_000;
const NICENESS = constants.priority.PRIORITY_BELOW_NORMAL;

/** Resolves when the interpreter is ready. */
export async function startInterpreter(options: InterpreterOptions): Promise<Interpreter> {
  const child = spawnHost(options);
  const replies = new Replies(child);
  const gone = new Promise<void>((resolve) => child.once("close", () => resolve()));
  let alive = true;
  void gone.then(() => (alive = false));

  async function kill(): Promise<void> {
    replies.stop();
    await gone;
  }

  const timer = setTimeout(() => replies.stop(), START_TIMEOUT_MS);
  const first = await replies.expect((reply) => reply.type === "ready");
  clearTimeout(timer);
  if (first === undefined) {
    await kill();
    throw new Error(`The Python interpreter did not start. ${replies.errorOutput}`.trim());
  }
  let ended: "timeout" | "memory" | undefined;
  const stop = (reason?: typeof ended) => {
    ended ??= reason;
    replies.stop();
  };
  const onAbort = () => stop();
  const watch = watchProcess(child, options, {
    onMemory: () => stop("memory"),
    onBusy: () => stop(),
  });
  void gone.then(() => watch.end());

  return {
    get alive() {
      return alive;
    },
    kill,
    async run(code, signal) {
      signal.throwIfAborted();
      // Code could read the next value of a counter, and write the result of its own call.
      const id = randomBytes(16).toString("hex");
      const timeout = setTimeout(() => stop("timeout"), options.timeoutMs);
      signal.addEventListener("abort", onAbort, { once: true });
      watch.setIdle(false);
      try {
        child.stdin?.write(`${JSON.stringify({ id, code })}\n`);
        const reply = await replies.expect((each) => each.type !== "ready" && each.id === id);
        signal.throwIfAborted();
        if (reply?.type === "result") return toOutcome(reply);
        await kill();
        const output = reply?.type === "crash" ? boundText(reply.output) : "";
        return { status: ended ?? "crash", output, files: [], withheld: [] };
      } finally {
        watch.setIdle(true);
        clearTimeout(timeout);
        signal.removeEventListener("abort", onAbort);
        if (signal.aborted) await kill();
      }
    },
  };
}

/** Resolves with the snapshot that the process writes to stdout. */
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
  // `close` follows, and handles the error.
  child.on("error", () => undefined);
  child.stdin?.on("error", () => undefined);
  lowerPriority(child);
  return child;
}

/** Lowers the priority of the process, so that computations do not slow down the gateway. */
function lowerPriority({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    setPriority(pid, NICENESS);
  } catch {
    // The change is not permitted, or the process has exited. The interpreter works without it.
  }
}

function toOutcome({
  status,
  output,
  files,
  withheld,
}: Extract<HostReply, { type: "result" }>): Omit<PythonOutcome, "restarted"> {
  return { status, output: boundText(output), files, withheld };
}

function toErrorOutput(text: string): string {
  return text.slice(0, 2000);
}
