/** Enables the recording of turns in this process: for the page at /inspect, and for capture to files. */
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
  /** Undefined: turns are not recorded. */
  readonly recorder: Recorder | undefined;
  /** Undefined: the inspector is off. */
  readonly inspector: Inspector | undefined;
  close(): Promise<void>;
}

/** Divisor of the memory for all turns: the maximum of one turn. */
const RECORD_SHARE = 4;

const EXPIRY_CHECK_MS = 60_000;

/** Options of the process. */
export interface RecordingOptions {
  /** The caller has replaced the configured engines. */
  readonly hasOwnEngines?: boolean;
  /** The log, with the page's address, is on a terminal. */
  readonly isTerminal?: boolean | undefined;
}

/**
 * Whether /inspect is on: by the setting, or by default where only this machine can reach the gateway, and its address is printed
 * on a terminal or the engine is the demo.
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
  // The recorder is loaded only where turns are recorded.
  const { Recorder } = await import("../../telemetry/record/recorder.ts");
  const recorder = new Recorder({
    limits: {
      maxRecordBytes: Math.floor(inspectMaxBytes / RECORD_SHARE),
      maxTotalBytes: inspectMaxBytes,
      // Without the inspector, complete records are only written.
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
