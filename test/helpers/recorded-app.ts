/** The application in this process, with a listening recorder. */
import * as z from "zod";
import type { Engine } from "../../src/index.ts";
import type { Pool } from "../../src/engines/pool.ts";
import type { Shutdown } from "../../src/models/shutdown.ts";
import type { RecordEntry } from "../../src/telemetry/record/entry.ts";
import { Recorder, type RecorderOptions } from "../../src/telemetry/record/recorder.ts";
import { type TurnRecord, turnRecordSchema } from "../../src/telemetry/record/schema.ts";
import type { Toolbox } from "../../src/tools/toolbox.ts";
import { appOf } from "./app.ts";
import { testSettings } from "./gateway.ts";

export interface RecordedAppOptions {
  readonly engine: Engine | Pool;
  readonly settings?: Readonly<Record<string, unknown>>;
  readonly toolbox?: Toolbox;
  readonly recorder?: Partial<RecorderOptions>;
  readonly shutdown?: Shutdown;
}

export interface RecordedApp {
  readonly recorder: Recorder;
  readonly entries: readonly RecordEntry[];
  post(path: string, body: object, headers?: Record<string, string>): Promise<Response>;
  request(path: string, init?: RequestInit): Promise<Response>;
  /** The records so far, each checked against its schema. */
  records(): Promise<TurnRecord[]>;
}

async function readRecord(entry: RecordEntry): Promise<TurnRecord> {
  const read = turnRecordSchema().safeParse(JSON.parse(JSON.stringify(await entry.record())));
  if (!read.success) throw new Error(z.prettifyError(read.error));
  return read.data;
}

const TEST_LIMITS = {
  maxRecordBytes: 4_000_000,
  maxTotalBytes: 16_000_000,
  maxRecords: 100,
};

export function createRecordedApp(options: RecordedAppOptions): RecordedApp {
  const settings = testSettings(options.settings ?? {});
  let clock = 0;
  const recorder = new Recorder({
    limits: TEST_LIMITS,
    keepsContent: true,
    gateway: "0.0.0-test",
    now: () => new Date("2026-01-31T12:00:00Z"),
    // The clock advances by a millisecond each time it is read.
    clock: () => clock++,
    ...options.recorder,
  });
  recorder.listen(() => undefined);
  const { engine, toolbox, shutdown } = options;
  const app = appOf(settings, [{ id: "openai/gpt-oss-20b", engine, layout: "reference" }], {
    ...(toolbox && { toolbox }),
    ...(shutdown && { shutdown }),
    recorder,
    now: () => Date.parse("2026-01-31T12:00:00Z"),
  });
  return {
    recorder,
    get entries() {
      return recorder.kept.entries;
    },
    request: async (path, init) => app.request(path, init),
    post: async (path, body, headers = {}) =>
      app.request(path, {
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        body: JSON.stringify(body),
      }),
    records: () => Promise.all(recorder.kept.entries.map((entry) => readRecord(entry))),
  };
}
