/** `--capture`: writes every recorded turn, or one requested turn, into a folder of limited size, one JSON file each. */
import type { Log } from "../../telemetry/log.ts";
import type { RecordEntry } from "../../telemetry/record/entry.ts";
import type { Recorder } from "../../telemetry/record/recorder.ts";
import { stringifyInChunks } from "../../telemetry/record/build-slices.ts";
import { type FileHandle, mkdir, open, readdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { SettingsError } from "../../config/resolve.ts";
import { explainFile } from "../explain-file.ts";

interface CaptureOptions {
  readonly folder: string;
  /** Bytes of all files written by this and earlier processes. */
  readonly maxBytes: number;
  readonly log: Log;
}

interface Capture {
  /**
   * Writes a complete turn, even if it was written before. Resolves with the path of its file.
   *
   * @throws if the file cannot be written
   */
  readonly save: (entry: RecordEntry) => Promise<string>;
  /** Stops recording, and resolves when everything is written. */
  close(): Promise<void>;
}

/** Maximum turns waiting to be written. Further turns are skipped, so that a slow disk cannot exhaust memory. */
const MAX_WAITING = 16;

/** @throws SettingsError if the folder cannot be used. */
export async function startCapture(recorder: Recorder, options: CaptureOptions): Promise<Capture> {
  const files = await openCaptureFolder(options.folder, options.maxBytes);
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
  /** Writes one file after the other. */
  const save = (entry: RecordEntry): Promise<string> => {
    const before = writing;
    const saved = write(entry, before);
    // A failure does not prevent the next write.
    writing = Promise.allSettled([saved]);
    return saved;
  };
  const stop = recorder.listen((entry) => {
    if (!entry.isComplete || seen.has(entry)) return;
    seen.add(entry);
    if (waiting >= MAX_WAITING)
      return report(new Error("the disk is too slow: a turn was skipped"));
    // A failure was reported already.
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

/** `20260131T120000000Z-12-req_abc.json`: the name sorts by time, and is safe on every file system. */
function toFileName(entry: RecordEntry): string {
  const { at, id } = entry.summary();
  const safe = id.replaceAll(/[^\w-]/g, "-").slice(0, 80);
  return `${at.replaceAll(/[-:.]/g, "")}-${entry.number}-${safe}.json`;
}

/** Names of captured files: the time, a number, and the safe characters of the request's id. */
const OWN_FILE = /^\d{8}T\d{9}Z-\d+-[\w.-]{1,80}\.json(?:\.part)?$/;
/** Suffix of a file that is being written. */
const PART = ".part";

/** @throws SettingsError if the folder cannot be used. */
async function openCaptureFolder(folder: string, maxBytes: number): Promise<CaptureFolder> {
  const files = new CaptureFolder(folder, maxBytes);
  try {
    await files.open();
    return files;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const problem =
      explainFile(error, folder) ?? `${folder}: the folder cannot be used: ${reason}.`;
    throw new SettingsError([`capture ${problem}`]);
  }
}

/** Writes one file after the other. */
class CaptureFolder {
  readonly #folder: string;
  readonly #maxBytes: number;
  /** Sizes by name, oldest first. */
  readonly #sizes = new Map<string, number>();
  #total = 0;

  constructor(folder: string, maxBytes: number) {
    this.#folder = folder;
    this.#maxBytes = maxBytes;
  }

  /** Counts the files of earlier processes, and deletes their unfinished ones. */
  async open(): Promise<void> {
    // Other users of the machine must not read prompts and answers.
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    const names = (await readdir(this.#folder)).filter((name) => OWN_FILE.test(name));
    for (const name of names.toSorted()) {
      this.#count(name, (await stat(this.#pathOf(name))).size);
      if (name.endsWith(PART)) await this.#delete(name);
    }
  }

  /** Writes a file. Each chunk is written before the next one is made. Resolves with the file's path. */
  async write(name: string, chunks: AsyncIterable<string>): Promise<string> {
    const part = name + PART;
    const file = await open(this.#pathOf(part), "wx", 0o600);
    try {
      for await (const chunk of chunks) await this.#append(file, part, chunk);
      await this.#append(file, part, "\n");
      await file.close();
      // The file is renamed when complete, so that readers never see a partial one.
      await rename(this.#pathOf(part), this.#pathOf(name));
    } catch (error) {
      await file.close();
      await this.#delete(part);
      throw error;
    }
    const bytes = this.#sizes.get(part) ?? 0;
    this.#forget(part);
    this.#forget(name);
    this.#count(name, bytes);
    return this.#pathOf(name);
  }

  async #append(file: FileHandle, part: string, text: string): Promise<void> {
    const chunk = Buffer.from(text);
    const bytes = (this.#sizes.get(part) ?? 0) + chunk.length;
    if (bytes > this.#maxBytes) throw new Error("a turn is larger than captureMaxBytes");
    for (const oldest of this.#sizes.keys()) {
      if (this.#total + chunk.length <= this.#maxBytes) break;
      if (oldest !== part) await this.#delete(oldest);
    }
    if (this.#total + chunk.length > this.#maxBytes) {
      throw new Error("older files cannot be deleted to make room");
    }
    this.#forget(part);
    this.#count(part, bytes);
    await file.writeFile(chunk);
  }

  /** Deletes a file. It still counts if that fails. */
  async #delete(name: string): Promise<void> {
    try {
      await rm(this.#pathOf(name), { force: true });
      this.#forget(name);
    } catch {
      // The next write that needs the room tries again.
    }
  }

  #count(name: string, bytes: number): void {
    this.#sizes.set(name, bytes);
    this.#total += bytes;
  }

  #forget(name: string): void {
    this.#total -= this.#sizes.get(name) ?? 0;
    this.#sizes.delete(name);
  }

  #pathOf(name: string): string {
    return join(this.#folder, name);
  }
}
