/**
 * `--audit-file`: appends the lines of the audit to a file. A disk that is full, slow or gone costs lines, which are counted and
 * reported, and never a request: nothing waits for the file.
 *
 * The file is opened for each batch, so that it can be rotated by renaming it, without a signal, and is found again when it is back.
 */
import { appendFile, open, stat } from "node:fs/promises";
import { SettingsError } from "../../config/resolve.ts";
import { waitAtMost } from "../../streams/timers.ts";
import type { Log } from "../../telemetry/log.ts";
import { explainFile } from "../explain-file.ts";

export interface AuditFile {
  /** Takes a line for the file. Never throws. */
  readonly write: (line: string) => void;
  /** Lines that were not written. */
  dropped(): number;
  /** Writes what is left, for as long as {@link CLOSE_MS}. */
  close(): Promise<void>;
}

/** Characters that wait for the disk, beside those that are being written. */
const MAX_WAITING = 4_194_304;
const CLOSE_MS = 2_000;
/** The owner may read it, and nobody else. */
const MODE = 0o600;

/** @throws SettingsError if the file cannot be opened now. */
export async function openAuditFile(path: string, log: Log): Promise<AuditFile> {
  try {
    const found = await stat(path).catch(() => undefined);
    // To open a pipe that nobody reads would take forever.
    if (found?.isFIFO() || found?.isDirectory()) throw new Error("it is not a file");
    await (await open(path, "a", MODE)).close();
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    const problem = explainFile(error, path) ?? `${path}: cannot be written: ${why}.`;
    throw new SettingsError([`auditFile ${problem}`]);
  }
  return createAuditFile((text) => appendFile(path, text, { mode: MODE }), log);
}

/** @param append writes to the end of the file, all of it or, if it rejects, possibly a part. */
export function createAuditFile(append: (text: string) => Promise<void>, log: Log): AuditFile {
  let waiting: string[] = [];
  let waitingLength = 0;
  let dropped = 0;
  let writing: Promise<void> | undefined;
  /** Lines are being dropped. */
  let isFailing = false;
  /** A failure may have left the beginning of a line. */
  let isCut = false;

  function drop(lines: number, message: string): void {
    dropped += lines;
    // The first one of a series.
    if (!isFailing) log.warn("audit lines dropped", { message });
    isFailing = true;
  }

  async function writeWaiting(): Promise<void> {
    while (waiting.length > 0) {
      const lines = waiting;
      waiting = [];
      waitingLength = 0;
      try {
        await append((isCut ? "\n" : "") + lines.join(""));
        isCut = false;
        if (isFailing) log.info("audit written again", { dropped });
        isFailing = false;
      } catch (error) {
        isCut = true;
        drop(lines.length, error instanceof Error ? error.message : String(error));
      }
    }
    writing = undefined;
  }

  return {
    write(line) {
      if (waitingLength + line.length > MAX_WAITING) {
        drop(1, "the disk is too slow");
        return;
      }
      waiting.push(line);
      waitingLength += line.length;
      writing ??= writeWaiting();
    },
    dropped: () => dropped,
    async close() {
      if (writing !== undefined) await waitAtMost(writing, CLOSE_MS);
    },
  };
}
