/** Settings that are read again (SIGHUP): which of them can change while the gateway runs. */
import { contradictions } from "../../config/contradictions.ts";
import { describedSettings } from "../../config/describe.ts";
import { SettingsError } from "../../config/resolve.ts";
import type { SettingName, Settings } from "../../config/settings.ts";

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
  const fixed = describedSettings().flatMap((each) => (each.fixed ? each.name : []));
  const kept = Object.fromEntries(fixed.map((name) => [name, running[name]]));
  const settings = { ...wanted, ...kept };
  const restartFor = fixed.filter(
    (name) => JSON.stringify(wanted[name]) !== JSON.stringify(running[name]),
  );
  const problems = contradictions(settings, new Map(), { public: false });
  if (problems.length === 0) return { settings, restartFor };
  throw new SettingsError([
    ...problems,
    `The new settings are judged with the present value of ${restartFor.join(", ")}, which only a restart changes.`,
  ]);
}
