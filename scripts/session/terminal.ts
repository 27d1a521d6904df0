/** Runs commands in a pseudo-terminal made by `script` of util-linux, so that the output equals a terminal's. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout } from "node:timers/promises";
import { stripVTControlCharacters } from "node:util";

export interface Typed {
  /** The output so far, as plain text without colours. */
  readonly printed: string;
  /** Resolves when the text is there. Rejects when the command ends without it, or when it takes too long. */
  waitFor(pattern: RegExp): Promise<void>;
  /** Resolves when nothing more has been printed for a while. */
  settle(): Promise<void>;
  /** Types characters, while the command runs. */
  press(text: string): void;
  /** Presses Ctrl+C, and waits for the end. */
  interrupt(): Promise<void>;
  /** Waits for the end. */
  end(): Promise<void>;
}

export interface TypeOptions {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

const TIMEOUT_MS = 300_000;
const SETTLED_MS = 700;
const CTRL_C = "\u0003";

export function typeCommand(command: string, { cwd, env }: TypeOptions): Typed {
  const line = `stty cols 200 -echo; ${command}`;
  const child = spawn("script", ["--quiet", "--return", "--command", line, "/dev/null"], {
    cwd,
    env: { ...env, TERM: "xterm", NO_COLOR: "1" },
    stdio: ["pipe", "pipe", "pipe"],
  });
  let raw = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (data) => (raw += data));
  const closed = once(child, "close");
  const typed: Typed = {
    get printed() {
      return toPlainText(raw);
    },
    async waitFor(pattern) {
      const until = performance.now() + TIMEOUT_MS;
      while (!pattern.test(typed.printed)) {
        if (hasEnded(child) || performance.now() > until) {
          await typed.interrupt();
          throw new Error(`${command} did not print ${String(pattern)}, but:\n${typed.printed}`);
        }
        await setTimeout(50);
      }
    },
    async settle() {
      for (let before = -1; before !== raw.length;) {
        before = raw.length;
        await setTimeout(SETTLED_MS);
      }
    },
    press: (text) => void child.stdin.write(text),
    async interrupt() {
      if (!hasEnded(child)) typed.press(CTRL_C);
      await closed;
    },
    async end() {
      await closed;
    },
  };
  return typed;
}

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}

/** Removes escape sequences, and keeps only the last form of a line that was redrawn. */
function toPlainText(raw: string): string {
  const lines = raw.replaceAll("\r\n", "\n").replaceAll(/[^\n]*\r/g, "");
  return stripVTControlCharacters(lines).replaceAll("^C", "");
}
