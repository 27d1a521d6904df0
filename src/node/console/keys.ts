/** Keys at the terminal that a gateway runs in: a letter and Enter. */
import { readFileSync } from "node:fs";
import { spawnSync } from "node:child_process";
import type { ReadStream } from "node:tty";

export interface Key {
  /** Behind the letter in the help. */
  readonly title: string;
  /** @param words what was typed behind the letter. */
  readonly run: (words: readonly string[]) => Promise<void> | void;
}

export type Keys = Readonly<Record<string, Key>>;

export interface KeysIo {
  readonly print: (text: string) => void;
  /** Of an action that failed. */
  readonly onError: (error: unknown) => void;
}

/** Typed characters without Enter. */
const MAX_TYPED = 200;
const MAX_LINES = 10;
const LOOK_EVERY_MS = 1000;

/** Runs the actions of lines that are typed. One that is slow does not keep others from running, but itself. */
export class KeyReader {
  readonly #keys: Keys;
  readonly #io: KeysIo;
  readonly #running = new Set<string>();
  #typed = "";

  constructor(keys: Keys, io: KeysIo) {
    this.#keys = keys;
    this.#io = io;
  }

  /** Characters as they come. */
  type(text: string): void {
    const lines = (this.#typed + text).split(/\r?\n|\r/);
    this.#typed = (lines.pop() ?? "").slice(0, MAX_TYPED);
    // More at once was pasted, and is not meant as keys.
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
 * Reads the terminal while this process is in its foreground. In the background a read would suspend the process. The shell
 * says with a SIGCONT that it has moved, except a process that ran in the background. Returns whether it is in the foreground now.
 */
export function readKeys(stdin: ReadStream, reader: KeyReader): boolean {
  const follow = () => {
    const isRead = isForeground();
    if (isRead) stdin.resume();
    else stdin.pause();
    return isRead;
  };
  stdin.setEncoding("utf8");
  // The terminal is gone, or Ctrl+D was pressed: the gateway goes on without keys.
  stdin.on("error", () => {});
  stdin.on("data", (text) => reader.type(String(text)));
  process.on("SIGCONT", follow);
  if (process.platform === "linux") {
    setInterval(() => stdin.isPaused() && follow(), LOOK_EVERY_MS).unref();
  }
  // The listener has made it flow.
  return follow();
}

/** Whether the terminal's input goes to the group of this process. Windows has no such groups. */
export function isForeground(): boolean {
  if (process.platform === "win32") return true;
  // The other one starts a process, and is not used again and again.
  const [group, foreground] = process.platform === "linux" ? readProc() : askPs();
  return group !== undefined && group === foreground;
}

/** The fields behind the name, which may hold spaces and brackets: state, parent, group, session, terminal, its foreground group. */
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
