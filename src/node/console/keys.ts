/** Keyboard commands in the terminal of a gateway: a letter and Enter. */
import { readFileSync } from "node:fs";
import { spawnSync } from "node:child_process";
import type { ReadStream } from "node:tty";

export interface Key {
  /** The text after the letter in the help. */
  readonly title: string;
  /** @param words typed after the letter. */
  readonly run: (words: readonly string[]) => Promise<void> | void;
}

export type Keys = Readonly<Record<string, Key>>;

export interface KeysIo {
  readonly print: (text: string) => void;
  /** Receives the error of an action. */
  readonly onError: (error: unknown) => void;
}

/** Maximum characters typed without Enter. */
const MAX_TYPED = 200;
const MAX_LINES = 10;
const LOOK_EVERY_MS = 1000;

/** Runs the actions of typed lines. A slow action blocks only another run of itself. */
export class KeyReader {
  readonly #keys: Keys;
  readonly #io: KeysIo;
  readonly #running = new Set<string>();
  #typed = "";

  constructor(keys: Keys, io: KeysIo) {
    this.#keys = keys;
    this.#io = io;
  }

  /** Accepts characters as they arrive. */
  type(text: string): void {
    const lines = (this.#typed + text).split(/\r?\n|\r/);
    this.#typed = (lines.pop() ?? "").slice(0, MAX_TYPED);
    // More lines at once were pasted, and are not meant as commands.
    for (const line of lines.slice(0, MAX_LINES))
      this.#enter(line.slice(0, MAX_TYPED).trim().toLowerCase());
  }

  #enter(line: string): void {
    const [letter = "", ...words] = line.split(/\s+/);
    if (letter === "") return;
    if (letter === "h" || letter === "?") return this.#io.print(toHelp(this.#keys));
    const key = Object.hasOwn(this.#keys, letter) ? this.#keys[letter] : undefined;
    if (key === undefined) return this.#io.print("  There is no such key. h + Enter lists them.");
    if (this.#running.has(letter)) return this.#io.print(`  Still busy: ${key.title}.`);
    void this.#run(letter, key, words);
  }

  async #run(letter: string, { run }: Key, words: readonly string[]): Promise<void> {
    try {
      const running = run(words);
      if (!(running instanceof Promise)) return;
      this.#running.add(letter);
      await running;
    } catch (error) {
      this.#io.onError(error);
    } finally {
      this.#running.delete(letter);
    }
  }
}

function toHelp(keys: Keys): string {
  const rows = Object.entries(keys).map(([letter, { title }]) => `  ${letter} + Enter   ${title}`);
  return ["", ...rows, ""].join("\n");
}

/**
 * Reads the terminal while this process is in its foreground. In the background a read would suspend the process. The shell sends
 * SIGCONT when it moves a process, except one that ran in the background. Returns whether the process is in the foreground now.
 */
export function readKeys(stdin: ReadStream, reader: KeyReader): boolean {
  const follow = () => {
    const isRead = isForeground();
    if (isRead) stdin.resume();
    else stdin.pause();
    return isRead;
  };
  stdin.setEncoding("utf8");
  // The terminal was closed, or Ctrl+D was pressed: the gateway continues without keys.
  stdin.on("error", () => {});
  stdin.on("data", (text) => reader.type(String(text)));
  process.on("SIGCONT", follow);
  if (process.platform === "linux") {
    setInterval(() => stdin.isPaused() && follow(), LOOK_EVERY_MS).unref();
  }
  // The listener has started the flow of data.
  return follow();
}

/** Whether this process' group receives the terminal's input. Windows has no such groups. */
export function isForeground(): boolean {
  if (process.platform === "win32") return true;
  // `ps` starts a process for each call, so `/proc` is preferred.
  const [group, foreground] = process.platform === "linux" ? readProc() : askPs();
  return group !== undefined && group === foreground;
}

/** The fields after the name, which may hold spaces and brackets: state, parent, group, session, terminal, its foreground group. */
function readProc(): readonly string[] {
  try {
    const stat = readFileSync("/proc/self/stat", "utf8");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return [fields[2] ?? "", fields[5] ?? ""];
  } catch {
    return [];
  }
}

function askPs(): readonly string[] {
  const { stdout } = spawnSync("ps", ["-o", "pgid=,tpgid=", "-p", String(process.pid)], {
    encoding: "utf8",
  });
  return (stdout ?? "").trim().split(/\s+/);
}
