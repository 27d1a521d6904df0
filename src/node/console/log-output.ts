/**
 * The output of a process' log. A full disk, a closed pipe or a slow reader costs lines, which are counted, but never stops the
 * process.
 */
import { fstatSync, writeSync } from "node:fs";
import type { Writable } from "node:stream";

export interface LogOutput {
  readonly isTTY: boolean;
  readonly columns: number | undefined;
  hasColors(): boolean;
  /** Returns false if the text was dropped. */
  write(text: string): boolean;
  /** Writes a text whose loss is not counted. */
  rewrite(text: string): void;
  /** Number of lines dropped so far. */
  readonly dropped: number;
}

interface Terminal {
  readonly isTTY?: boolean;
  readonly columns?: number;
  hasColors?(): boolean;
}

/** Maximum characters that wait for a slow reader. */
const MAX_UNREAD = 1_048_576;

const STDOUT = 1;

export function openLogOutput(): LogOutput {
  // Node's stream of a file is closed by the first failure, although a disk may have room again later.
  return isFile(STDOUT)
    ? createLogOutput(createFileWriter((text) => writeSync(STDOUT, text)))
    : createLogOutput(createStreamWriter(process.stdout), process.stdout);
}

/** @param write returns false if it cannot write the text */
export function createLogOutput(
  write: (text: string) => boolean,
  terminal: Terminal = {},
): LogOutput {
  let dropped = 0;
  return {
    isTTY: terminal.isTTY === true,
    get columns() {
      return terminal.columns;
    },
    hasColors: () => terminal.hasColors?.() === true,
    write(text) {
      const isWritten = write(text);
      if (!isWritten) dropped += 1;
      return isWritten;
    },
    rewrite: (text) => void write(text),
    get dropped() {
      return dropped;
    },
  };
}

export function createStreamWriter(stream: Writable): (text: string) => boolean {
  /** Node's standard output stays writable after an error, but every later write fails. */
  let hasFailed = false;
  // Without a listener an error ends the process.
  stream.on("error", () => (hasFailed = true));
  return (text) => {
    if (hasFailed || !stream.writable || stream.writableLength > MAX_UNREAD) return false;
    stream.write(text);
    return true;
  };
}

/** @param write returns how many bytes were written; throws if none was */
export function createFileWriter(write: (text: string) => number): (text: string) => boolean {
  /** The last write stored a part of a line, as on a full disk. */
  let isCut = false;
  return (text) => {
    const line = isCut ? `\n${text}` : text;
    try {
      const bytes = write(line);
      isCut = bytes < Buffer.byteLength(line);
      return !isCut;
    } catch {
      return false;
    }
  };
}

function isFile(descriptor: number): boolean {
  try {
    const stat = fstatSync(descriptor);
    return stat.isFile() || (stat.isCharacterDevice() && !process.stdout.isTTY);
  } catch {
    // The output is closed.
    return false;
  }
}
