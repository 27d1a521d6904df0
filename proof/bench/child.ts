/** Starts, queries, measures and stops the processes of a run. */
import { type ChildProcess, fork, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";

/** The running processes. None of them outlives this process, even if it is interrupted. */
const running = new Set<ChildProcess>();
process.once("exit", () => {
  for (const child of running) child.kill("SIGKILL");
});

/** A child process that answers messages one after the other. */
export interface Helper {
  readonly pid: number;
  /** The message it sent when it was ready. Both ends of these messages are ours, so the caller knows the type. */
  readonly greeting: any;
  ask(message: object | string): Promise<any>;
  stop(): Promise<void>;
}

export interface HelperOptions {
  readonly args?: readonly string[];
  readonly nodeFlags?: readonly string[];
  /** It sends a message when it is ready. */
  readonly greets: boolean;
}

export async function startHelper(module: URL, options: HelperOptions): Promise<Helper> {
  const child = fork(module, options.args ?? [], {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
    execArgv: [...(options.nodeFlags ?? [])],
  });
  keepTrack(child);
  const failed = failure(child);
  const receive = async (): Promise<any> => {
    const [message] = await Promise.race([once(child, "message"), failed]);
    return message;
  };
  const greeting = options.greets ? await receive() : undefined;
  let previous: Promise<unknown> = Promise.resolve();
  return {
    pid: child.pid ?? 0,
    greeting,
    // Replies do not name their messages, so a message waits for the reply to the previous one.
    ask(message) {
      const reply = previous.then(() => {
        const answer = receive();
        child.send(message);
        return answer;
      });
      previous = reply.catch(() => {});
      return reply;
    },
    stop: () => stop(child),
  };
}

export interface Program {
  readonly pid: number;
  stop(): Promise<void>;
}

/** Starts any program and waits until it answers at this address without a 5xx. */
export async function startProgram(
  command: string,
  args: readonly string[],
  readyUrl: string,
  environment: Readonly<Record<string, string>> = {},
): Promise<Program> {
  const child = spawn(command, args, {
    stdio: ["ignore", "ignore", process.env["BENCH_VERBOSE"] ? "inherit" : "ignore"],
    env: { ...process.env, ...environment },
  });
  keepTrack(child);
  await Promise.race([untilReady(readyUrl), failure(child)]);
  return { pid: child.pid ?? 0, stop: () => stop(child) };
}

/**
 * Milliseconds of CPU a process has used so far, in all threads, user and kernel. From the scheduler's own clock
 * where the kernel has it (nanoseconds), else from its ticks (10 ms).
 */
export function cpuMs(pid: number): number {
  try {
    const threads = readdirSync(`/proc/${pid}/task`);
    const nanoseconds = threads.map((thread) =>
      Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "utf8").split(" ")[0]),
    );
    return nanoseconds.reduce((sum, each) => sum + each, 0) / 1e6;
  } catch {
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
    return 10 * (Number(fields[11]) + Number(fields[12]));
  }
}

/** Resident memory of a process in KiB. */
export function rssKib(pid: number): number {
  const kib = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  return Number(kib ?? 0);
}

function keepTrack(child: ChildProcess): void {
  running.add(child);
  child.once("exit", () => running.delete(child));
}

async function untilReady(url: string): Promise<void> {
  for (let attempt = 0; attempt < 6000; attempt++) {
    try {
      const { status } = await fetch(url);
      if (status < 500) return;
    } catch {
      // Not listening yet.
    }
    await pause(50);
  }
  throw new Error(`nothing answers at ${url}`);
}

async function failure(child: ChildProcess): Promise<never> {
  const [code] = await once(child, "exit");
  throw new Error(`${child.spawnargs.join(" ")} ended with ${code}`);
}

/** SIGTERM first, so that a profile is written. */
async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill("SIGTERM");
  const impatience = setTimeout(() => child.kill("SIGKILL"), 2000);
  await ended;
  clearTimeout(impatience);
}
