/**
 * `--audit-file`: appends the lines of the audit to a file. A full, slow or missing disk costs lines, which are counted and
 * reported, but never a request: no request waits for the file.
 *
 * The file is opened for each batch, so that it can be rotated by renaming, without a signal, and is used again when it
 * reappears.
 */
import { appendFile, open, stat } from "node:fs/promises";
import { SettingsError } from "../../config/resolve.ts";
import { waitAtMost } from "../../streams/timers.ts";
import type { Log } from "../../telemetry/log.ts";
import { explainFile } from "../explain-file.ts";

export interface AuditFile {
  /** Queues a line for the file. Never throws. */
  readonly write: (line: string) => void;
  /** Number of lines that were not written. */
  dropped(): number;
  /** Writes the remaining lines, for at most {@link CLOSE_MS}. */
  close(): Promise<void>;
}

/** Maximum characters that wait for the disk, in addition to those that are being written. */
const MAX_WAITING = 4_194_304;
const CLOSE_MS = 2_000;
/** Only the owner may read the file. */
const MODE = 0o600;

/** Opens the file. @throws SettingsError if the file cannot be opened now. */
export async function openAuditFile(path: string, log: Log): Promise<AuditFile> {
  try {
    const found = await stat(path).catch(() => undefined);
    // Opening a pipe without a reader would block forever.
    if (found?.isFIFO() || found?.isDirectory()) throw new Error("it is not a file");
    await (await open(path, "a", MODE)).close();
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    const problem = explainFile(error, path) ?? `${path}: cannot be written: ${why}.`;
    throw new SettingsError([`auditFile ${problem}`]);
  }
  return createAuditFile((text) => appendFile(path, text, { mode: MODE }), log);
}

/** @param append writes a text to the end of the file; if it rejects, possibly a part of it. */
export function createAuditFile(append: (text: string) => Promise<void>, log: Log): AuditFile {
  let waiting: string[] = [];
  let waitingLength = 0;
  let dropped = 0;
  let writing: Promise<void> | undefined;
  /** Lines are being dropped. */
  let isFailing = false;
  /** A failure may have written the beginning of a line. */
  let isCut = false;

  function drop(lines: number, message: string): void {
    dropped += lines;
    // Only the first failure of a series is reported.
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
