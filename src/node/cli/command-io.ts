/** Input and output of commands. Input is bounded; the reader of the output may close it early, or the disk may be full. */
import { createReadStream, createWriteStream, fstatSync } from "node:fs";
import type { Writable } from "node:stream";
import { visible } from "./control-signs.ts";
import { explainFile } from "../explain-file.ts";

/** The process as a command sees it. */
export interface CommandIo {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Writes to standard output. */
  readonly print: (text: string) => void;
  /** Writes to standard error. */
  readonly printError: (text: string) => void;
  /** Sets the exit code of a failed command. Called once. */
  readonly fail: (exitCode: number) => void;
  /** The user's home folder. */
  readonly home: string;
  readonly hasColours: boolean;
  /** Standard input, for commands that read and write more than a few lines. */
  readonly stdin: AsyncIterable<Uint8Array>;
  readonly openOutput: () => Writable & { readonly isTTY?: boolean };
  readonly stderr: Writable & { readonly isTTY?: boolean };
  /** Descriptors of the open files behind the streams. Absent: the streams are not files. */
  readonly descriptors?: { readonly stdin: number; readonly stdout: number };
}

/** A command, as its module exports it. */
export interface Command {
  /** The text of `harmony-gateway NAME --help`. */
  readonly usage: string;
  /**
   * Resolves with the exit code.
   *
   * @throws Error whose message explains the error in the arguments or the input
   */
  readonly run: (args: readonly string[], io: CommandIo) => number | Promise<number>;
}

/** Exit codes: a command that could not be run, and a gateway that could not start or was ended by a second signal. */
export const EXIT_USAGE = 2;
export const EXIT_FAILURE = 1;

/** Maximum bytes of input: the record of any turn fits. */
const MAX_INPUT_BYTES = 134_217_728;

/**
 * Reads a file, or standard input for `-`. Standard input is read as a stream: a synchronous read fails on a pipe that is still
 * empty.
 */
export async function readInput(
  file: string,
  stdin: AsyncIterable<Uint8Array> = process.stdin,
): Promise<string> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of file === "-" ? stdin : createReadStream(file)) {
    length += chunk.length;
    if (length > MAX_INPUT_BYTES) throw new TypeError(`${nameOf(file)}: is larger than 128 MB.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** Throws an error with one sentence that names the file. */
export function parseJsonInput(text: string, file: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new TypeError(`${nameOf(file)}: is not valid JSON: ${reason.replaceAll(/\s+/g, " ")}.`, {
      cause: error,
    });
  }
}

function nameOf(file: string): string {
  return file === "-" ? "The input" : file;
}

/** Whether standard output is a terminal, which interprets control characters. */
export function isTerminal(): boolean {
  return process.stdout.isTTY;
}

let output: Writable | undefined;

/**
 * Standard output, for a command that ends. A reader such as `head` that closes the pipe early ends the command quietly; any
 * other failure ends it with a sentence.
 */
export function commandOutput(): Writable {
  output ??= openOutput();
  return output;
}

export function printOutput(text: string): void {
  commandOutput().write(`${isTerminal() ? visible(text, { keepsColours: true }) : text}\n`);
}

function openOutput(): Writable {
  // On a full disk, Node's own stream for a file reports a partial write as a complete one.
  const isFile = fstatSync(1).isFile();
  const stream = isFile ? createWriteStream("", { fd: 1, autoClose: false }) : process.stdout;
  return stream.on("error", endCommand);
}

function endCommand(error: NodeJS.ErrnoException): void {
  if (error.code === "EPIPE") process.exit();
  const sentence = explainFile(error, "The output") ?? `The output: ${error.message}.`;
  process.stderr.write(`${sentence}\n`);
  process.exit(EXIT_USAGE);
}

/** The command as the user types it: `npm start --` in a clone, `npx harmony-gateway` from the package. */
export function commandName(
  environment: Readonly<Record<string, string | undefined>> = process.env,
): string {
  if (environment["npm_lifecycle_event"] === "start") return "npm start --";
  return environment["npm_command"] === "exec" ? "npx harmony-gateway" : "harmony-gateway";
}
