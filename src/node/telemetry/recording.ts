/** Decides who listens to turns in this process: the page at /inspect, and capture to files. */
import { setImmediate } from "node:timers/promises";
import { isLoopback } from "../../config/loopback.ts";
import { toBackends } from "../../config/backends.ts";
import type { Settings } from "../../config/settings.ts";
import type { Log } from "../../telemetry/log.ts";
import { MAX_RECORDS } from "../../telemetry/record/limits.ts";
import type { Recorder } from "../../telemetry/record/recorder.ts";
import { createPause } from "../../streams/slices.ts";
import type { PageAssets } from "../../pages/assets.ts";
import type { Inspector } from "../inspect/open-inspector.ts";
import { readVersion } from "../version.ts";

export interface Recording {
  /** Undefined: nobody listens. */
  readonly recorder: Recorder | undefined;
  /** Undefined: the page is off. */
  readonly inspector: Inspector | undefined;
  close(): Promise<void>;
}

/** One turn may take this share of the memory for all. */
const RECORD_SHARE = 4;

const EXPIRY_CHECK_MS = 60_000;

/** How the process was started. */
export interface RecordingOptions {
  /** Engines were given that are not those of the settings. */
  readonly hasOwnEngines?: boolean;
  /** Somebody reads the address of the page. */
  readonly isTerminal?: boolean | undefined;
}

/**
 * Whether /inspect is on: by the setting, or by itself where only this machine can reach the gateway, and somebody reads its
 * address at a terminal or the engine is the demo.
 */
export function isInspected(
  settings: Settings,
  { hasOwnEngines = false, isTerminal = false }: RecordingOptions,
): boolean {
  const { inspect, keys, open, host } = settings;
  if (inspect !== undefined) return inspect;
  if (!isLoopback(host) || keys.length > 0 || open) return false;
  if (isTerminal) return true;
  return !hasOwnEngines && toBackends(settings).every(({ engine }) => engine === "demo");
}

/** @throws SettingsError if the folder for captures cannot be used. */
export async function startRecording(
  settings: Settings,
  log: Log,
  assets: PageAssets,
  options: RecordingOptions = {},
): Promise<Recording> {
  const { capture: folder, captureMaxBytes, inspectMaxBytes, inspectMaxAgeSeconds } = settings;
  const inspected = isInspected(settings, options);
  if (!inspected && folder === undefined) {
    return { recorder: undefined, inspector: undefined, close: async () => {} };
  }
  // Loaded only where turns are recorded.
  const { Recorder } = await import("../../telemetry/record/recorder.ts");
  const recorder = new Recorder({
    limits: {
      maxRecordBytes: Math.floor(inspectMaxBytes / RECORD_SHARE),
      maxTotalBytes: inspectMaxBytes,
      // Where nobody looks at them, complete records are only written.
      maxRecords: inspected ? MAX_RECORDS : 1,
      maxAgeMs: inspectMaxAgeSeconds * 1000,
    },
    keepsContent: settings.recordContent,
    gateway: readVersion(),
    now: () => new Date(),
    clock: () => performance.now(),
    pause: createPause(setImmediate),
  });
  const capture =
    folder === undefined
      ? undefined
      : await (
          await import("./capture.ts")
        ).startCapture(recorder, { folder, maxBytes: captureMaxBytes, log });
  if (inspected) recorder.listen(() => {});
  const expiry = setInterval(
    () => recorder.kept.dropExpired(),
    Math.min(EXPIRY_CHECK_MS, inspectMaxAgeSeconds * 1000),
  ).unref();
  const inspector = inspected
    ? (await import("../inspect/open-inspector.ts")).openInspector(
        settings,
        recorder,
        assets,
        capture?.save,
      )
    : undefined;
  return {
    recorder,
    inspector,
    async close() {
      clearInterval(expiry);
      await capture?.close();
    },
  };
}
