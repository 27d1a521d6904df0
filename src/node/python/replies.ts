/**
 * Reads the replies of an interpreter's process. Code in the process can write to the same pipes, so only the expected reply is
 * accepted: any other line, an oversized line, or much output on stderr ends the process.
 */
import type { ChildProcess } from "node:child_process";
import { MAX_OUTPUT } from "../../tools/bounded-text.ts";
import { weigh } from "../../tools/read-bounded.ts";
import { FILE_LIMITS } from "../../tools/python/runtime.ts";
import { hostReply, type HostReply } from "./protocol.ts";

/** Maximum length of a reply: the output with every character escaped, and the files in base64. */
const MAX_LINE = MAX_OUTPUT * 8 + Math.ceil(FILE_LIMITS.allBytes * 1.4);
/** The host writes nothing to stderr; Deno writes warnings and the reason of a crash. */
const MAX_ERROR_BYTES = 65_536;
const MAX_ERROR_OUTPUT = 2000;

interface Expected {
  readonly isWanted: (reply: HostReply) => boolean;
  readonly resolve: (reply: HostReply | undefined) => void;
}

export class Replies {
  readonly #child: ChildProcess;
  #line: Buffer[] = [];
  #length = 0;
  #expected: Expected | undefined;
  #hasEnded = false;
  #errorBytes = 0;
  #errorOutput = "";

  constructor(child: ChildProcess) {
    this.#child = child;
    child.stdout?.on("data", (chunk: Buffer) => this.#read(chunk));
    child.stderr?.on("data", (chunk: Buffer) => this.#readErrors(chunk));
    child.once("close", () => this.#end());
  }

  /** The beginning of the process' output on stderr. */
  get errorOutput(): string {
    return this.#errorOutput;
  }

  /**
   * Resolves with the expected reply. Undefined: the process has ended, or is being killed because of other output. Calls do not
   * overlap.
   */
  expect(isWanted: (reply: HostReply) => boolean): Promise<HostReply | undefined> {
    if (this.#hasEnded) return Promise.resolve(undefined);
    return new Promise((resolve) => (this.#expected = { isWanted, resolve }));
  }

  /** Kills the process. Its further output is not read. */
  stop(): void {
    this.#child.kill("SIGKILL");
    this.#child.stdout?.destroy();
    this.#child.stderr?.destroy();
    this.#end();
  }

  #read(chunk: Buffer): void {
    let rest = chunk;
    for (let at = rest.indexOf(10); at >= 0 && !this.#hasEnded; at = rest.indexOf(10)) {
      this.#line.push(rest.subarray(0, at));
      this.#accept(Buffer.concat(this.#line).toString("utf8"));
      this.#line = [];
      this.#length = 0;
      rest = rest.subarray(at + 1);
    }
    if (rest.length > 0) this.#length += weigh(rest);
    // The process must not write between two calls.
    if (this.#length > (this.#expected === undefined ? 0 : MAX_LINE)) this.stop();
    else this.#line.push(rest);
  }

  #accept(text: string): void {
    const expected = this.#expected;
    const reply = expected && parseReply(text);
    if (expected === undefined || reply === undefined || !expected.isWanted(reply)) {
      this.stop();
      return;
    }
    this.#expected = undefined;
    expected.resolve(reply);
  }

  #readErrors(chunk: Buffer): void {
    this.#errorBytes += chunk.length;
    if (this.#errorOutput.length < MAX_ERROR_OUTPUT) {
      const text = this.#errorOutput + chunk.toString("utf8");
      this.#errorOutput = text.slice(0, MAX_ERROR_OUTPUT);
    }
    if (this.#errorBytes > MAX_ERROR_BYTES) this.stop();
  }

  #end(): void {
    this.#hasEnded = true;
    this.#expected?.resolve(undefined);
    this.#expected = undefined;
  }
}

function parseReply(text: string): HostReply | undefined {
  try {
    return hostReply().parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}
