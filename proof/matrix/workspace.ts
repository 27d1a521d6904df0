/**
 * The environment of a client: a separate home directory and project, and an environment without the machine's other
 * settings.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

const LIMIT_MS = 300_000;

export interface Workspace {
  readonly home: string;
  readonly project: string;
  /** Reads a file of the project. Undefined if it does not exist. */
  readonly contentOf: (name: string) => string | undefined;
  /** Writes a configuration file of the client. */
  configure(path: string, content: string | object): string;
  /** Runs a command in the project, for at most five minutes. */
  run(command: readonly string[], env?: Readonly<Record<string, string>>): Promise<Ended>;
}

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export function createWorkspace(folder: string): Workspace {
  const home = join(folder, "home");
  const project = join(folder, "project");
  mkdirSync(home);
  mkdirSync(project);
  return {
    home,
    project,
    contentOf(name) {
      const path = join(project, name);
      return existsSync(path) ? readFileSync(path, "utf8") : undefined;
    },
    configure(path, content) {
      const whole = join(home, path);
      mkdirSync(dirname(whole), { recursive: true });
      writeFileSync(whole, typeof content === "string" ? content : JSON.stringify(content));
      return whole;
    },
    async run([program = "", ...args], env = {}) {
      const child = spawn(program, args, {
        cwd: project,
        env: { PATH: process.env["PATH"], HOME: home, ...env },
        stdio: ["ignore", "pipe", "pipe"],
        timeout: LIMIT_MS,
        killSignal: "SIGKILL",
      });
      let [stdout, stderr] = ["", ""];
      child.stdout.on("data", (data) => (stdout += data));
      child.stderr.on("data", (data) => (stderr += data));
      const closed = once(child, "close");
      await once(child, "exit");
      // Remaining child processes may keep its output open.
      endStrays(home);
      await closed;
      return { code: child.exitCode, stdout, stderr };
    },
  };
}

/** Some clients leave daemons running. On Linux they are found by their home directory. */
function endStrays(home: string): void {
  if (!existsSync("/proc/self/environ")) return;
  for (const id of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    try {
      const environment = readFileSync(join("/proc", id, "environ"), "utf8").split("\0");
      if (environment.includes(`HOME=${home}`)) process.kill(Number(id), "SIGKILL");
    } catch {
      // The process has ended or belongs to another user.
    }
  }
}
