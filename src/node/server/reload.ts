/** Settings that are read again (SIGHUP): which of them can change while the gateway runs. */
import { contradictions } from "../../config/contradictions.ts";
import { SettingsError } from "../../config/resolve.ts";
import type { SettingName, Settings } from "../../config/settings.ts";

/** Settings that a reload cannot change: those of the listener, the store, browser and python, the log and recorded turns. */
const FIXED: readonly SettingName[] = [
  "host",
  "port",
  "reusePort",
  "metricsPort",
  "shutdownGraceMs",
  "clientIdleTimeoutMs",
  "store",
  "storeTimeoutMs",
  "storeMaxEntries",
  "storeMaxBytes",
  "storeMaxEntriesPerKey",
  "storeMaxBytesPerKey",
  "builtinTools",
  "browserSearch",
  "browserSearchUrl",
  "browserSearchKey",
  "browserSearchFolder",
  "browserAllow",
  "browserDeny",
  "pythonRuntime",
  "pythonUrl",
  "pythonKey",
  "denoPath",
  "pyodideFolder",
  "pythonPackages",
  "pythonCache",
  "pythonTimeoutMs",
  "pythonMemory",
  "pythonIdleMs",
  "maxInterpreters",
  "maxInterpretersPerKey",
  "log",
  "logFormat",
  "auditFile",
  "inspect",
  "inspectKey",
  "inspectMaxBytes",
  "inspectMaxAgeSeconds",
  "recordContent",
  "capture",
  "captureMaxBytes",
];

export interface Kept {
  readonly settings: Settings;
  /** The fixed settings whose new value has no effect yet. */
  readonly restartFor: readonly SettingName[];
}

/**
 * The new settings with the fixed ones as they were. They are judged together: a file without keys that listens on this machine
 * only is no reason to open a network to everybody.
 *
 * @throws SettingsError
 */
export function keepFixed(running: Settings, wanted: Settings): Kept {
  const kept = Object.fromEntries(FIXED.map((name) => [name, running[name]]));
  const settings = { ...wanted, ...kept };
  const restartFor = FIXED.filter(
    (name) => JSON.stringify(wanted[name]) !== JSON.stringify(running[name]),
  );
  const problems = contradictions(settings, new Map(), { public: false });
  if (problems.length === 0) return { settings, restartFor };
  throw new SettingsError([
    ...problems,
    `The new settings are judged with the present value of ${restartFor.join(", ")}, which only a restart changes.`,
  ]);
}
