/** `--capture`: writes every recorded turn into a folder, one JSON file each, within a bound; or one that is asked for. */
import { mkdir, open, readdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { SettingsError } from "../config/resolve.ts";
import type { Log } from "../telemetry/log.ts";
import type { RecordEntry, Recorder } from "../telemetry/record/recorder.ts";
import { stringifyInChunks } from "../telemetry/record/slices.ts";

export interface CaptureOptions {
  readonly folder: string;
  /** Bytes of all files written by this and earlier processes. */
  readonly maxBytes: number;
  readonly log: Log;
}

export interface Capture {
  /**
   * Writes a complete turn, again if it has been written. Resolves with the path of its file.
   *
   * @throws if it cannot be written
   */
  readonly save: (entry: RecordEntry) => Promise<string>;
  /** Stops recording, and resolves when everything is written. */
  close(): Promise<void>;
}

/** Maximum turns waiting to be written. Further ones are skipped, so that a slow disk cannot exhaust memory. */
const MAX_WAITING = 16;

/** Names of captured files: the time, a number, and the safe characters of the request's id. */
const OWN_FILE = /^\d{8}T\d{9}Z-\d+-[\w.-]{1,80}\.json$/;

/** @throws SettingsError if the folder cannot be used. */
export async function startCapture(recorder: Recorder, options: CaptureOptions): Promise<Capture> {
  const files = await openFolder(options);
  const seen = new WeakSet<RecordEntry>();
  let waiting = 0;
  let writing: Promise<unknown> = Promise.resolve();
  let isFailing = false;

  const report = (error: unknown): void => {
    if (!isFailing) options.log.warn("capture failing", { message: String(error) });
    isFailing = true;
  };
  const write = async (entry: RecordEntry, before: Promise<unknown>): Promise<string> => {
    waiting += 1;
    try {
      await before;
      const chunks = stringifyInChunks(await entry.record());
      const path = await files.write(toFileName(entry), chunks);
      isFailing = false;
      return path;
    } catch (error) {
      report(error);
      throw error;
    } finally {
      waiting -= 1;
    }
  };
  /** One after the other. */
  const save = (entry: RecordEntry): Promise<string> => {
    const before = writing;
    const saved = write(entry, before);
    // The next one is written also after a failure.
    writing = Promise.allSettled([saved]);
    return saved;
  };
  const stop = recorder.listen((entry) => {
    if (!entry.isComplete || seen.has(entry)) return;
    seen.add(entry);
    if (waiting >= MAX_WAITING)
      return report(new Error("the disk is too slow: a turn was skipped"));
    // A failure has been reported.
    save(entry).catch(() => undefined);
  });
  return {
    async save(entry) {
      if (waiting >= MAX_WAITING) throw new Error("the disk is too slow");
      return save(entry);
    },
    async close() {
      stop();
      await writing;
    },
  };
}

/** `20260131T120000000Z-12-req_abc.json`: sorts by time, and is safe on every file system. */
export function toFileName(entry: RecordEntry): string {
  const { at, id } = entry.summary();
  const safe = id.replaceAll(/[^\w-]/g, "-").slice(0, 80);
  return `${at.replaceAll(/[-:.]/g, "")}-${entry.number}-${safe}.json`;
}

interface Folder {
  /** Each chunk is written before the next one is asked for. Resolves with the file's path. */
  write(name: string, chunks: AsyncIterable<string>): Promise<string>;
}

async function openFolder({ folder, maxBytes }: CaptureOptions): Promise<Folder> {
  const sizes = new Map<string, number>();
  try {
    // Other users of the machine must not read prompts and answers.
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const names = (await readdir(folder)).filter((name) => OWN_FILE.test(name));
    for (const name of names.toSorted()) sizes.set(name, (await stat(join(folder, name))).size);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new SettingsError([`capture ${folder}: the folder cannot be used: ${reason}.`]);
  }

  async function makeRoom(bytes: number): Promise<void> {
    let total = bytes;
    for (const size of sizes.values()) total += size;
    for (const [name, size] of sizes) {
      if (total <= maxBytes) return;
      await rm(join(folder, name), { force: true });
      sizes.delete(name);
      total -= size;
    }
  }

  return {
    async write(name, chunks) {
      const path = join(folder, name);
      const part = `${path}.part`;
      const bytes = await writePart(part, chunks, maxBytes);
      // Replaced if it is there.
      sizes.delete(name);
      await makeRoom(bytes);
      // Renamed when complete, so that readers never see half a file.
      await rename(part, path);
      sizes.set(name, bytes);
      return path;
    },
  };
}

/** Resolves with the number of bytes. What could not be written to its end is deleted. */
async function writePart(
  part: string,
  chunks: AsyncIterable<string>,
  maxBytes: number,
): Promise<number> {
  const file = await open(part, "wx", 0o600);
  let bytes = 0;
  const write = async (text: string): Promise<void> => {
    const chunk = Buffer.from(text);
    bytes += chunk.length;
    if (bytes > maxBytes) throw new Error("a turn is larger than captureMaxBytes");
    await file.writeFile(chunk);
  };
  try {
    for await (const chunk of chunks) await write(chunk);
    await write("\n");
    await file.close();
  } catch (error) {
    await file.close();
    await rm(part, { force: true });
    throw error;
  }
  return bytes;
}
