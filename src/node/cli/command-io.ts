/** What commands read and print. Input is bounded; output may be cut off by its reader, or find a full disk. */
import { createReadStream, createWriteStream, fstatSync } from "node:fs";
import type { Writable } from "node:stream";
import { visible } from "./control-signs.ts";
import { explainFile } from "../explain-file.ts";

/** What a command needs of its process. */
export interface CommandIo {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** To standard output. */
  readonly print: (text: string) => void;
  /** To standard error. */
  readonly printError: (text: string) => void;
  /** Set once, when the command has failed. */
  readonly fail: (exitCode: number) => void;
  /** The user's folder. */
  readonly home: string;
  readonly hasColours: boolean;
  /** For commands that read and write more than a few lines. */
  readonly stdin: AsyncIterable<Uint8Array>;
  readonly openOutput: () => Writable & { readonly isTTY?: boolean };
  readonly stderr: Writable & { readonly isTTY?: boolean };
  /** The numbers of the open files behind the streams. Absent: there are none. */
  readonly descriptors?: { readonly stdin: number; readonly stdout: number };
}

/** A module's command. */
export interface Command {
  /** The text of `harmony-gateway NAME --help`. */
  readonly usage: string;
  /**
   * Resolves with the exit code.
   *
   * @throws Error whose message says what is wrong with the arguments or the input
   */
  readonly run: (args: readonly string[], io: CommandIo) => number | Promise<number>;
}

/** Exit codes: a command that could not be run, and a gateway that could not start or was ended by a second signal. */
export const EXIT_USAGE = 2;
export const EXIT_FAILURE = 1;

/** Enough for any record of a turn. */
const MAX_INPUT_BYTES = 134_217_728;

/**
 * A file's text, or that of standard input for `-`. Standard input is read as a stream: reading it at once fails where
 * a pipe has nothing yet.
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

/** Whether standard output is a terminal, which obeys what it is sent. */
export function isTerminal(): boolean {
  return process.stdout.isTTY;
}

let output: Writable | undefined;

/**
 * Standard output, for a command that ends. A reader such as `head`, which closes the pipe when it has read enough, ends the command
 * quietly; any other failure ends it with a sentence.
 */
export function commandOutput(): Writable {
  output ??= openOutput();
  return output;
}

export function printOutput(text: string): void {
  commandOutput().write(`${isTerminal() ? visible(text, { keepsColours: true }) : text}\n`);
}

function openOutput(): Writable {
  // Node's own stream for a file takes a part that fitted on a full disk for the whole.
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

/** `npm start --` in a clone, `npx harmony-gateway` from the package. */
export function commandName(
  environment: Readonly<Record<string, string | undefined>> = process.env,
): string {
  if (environment["npm_lifecycle_event"] === "start") return "npm start --";
  return environment["npm_command"] === "exec" ? "npx harmony-gateway" : "harmony-gateway";
}
