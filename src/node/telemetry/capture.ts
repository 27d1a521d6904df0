/** `--capture`: writes every recorded turn into a folder, one JSON file each, within a bound; or one requested turn. */
import type { Log } from "../../telemetry/log.ts";
import type { RecordEntry } from "../../telemetry/record/entry.ts";
import type { Recorder } from "../../telemetry/record/recorder.ts";
import { stringifyInChunks } from "../../telemetry/record/build-slices.ts";
import { openCaptureFolder } from "./capture-folder.ts";

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
