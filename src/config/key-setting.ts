/** Settings that a key can override, some of which a preset can override too. */
import type { Preset, PromptRules } from "../turn/preset.ts";
import type { Settings } from "./settings.ts";

type ClientKey = Settings["keys"][number];

export type KeySetting = keyof Settings & Exclude<keyof ClientKey, "name" | "sha256">;

/** Looks up a setting for a tenant: its key's own value, otherwise the general one. */
export function createKeySetting<N extends KeySetting>(
  settings: Settings,
  name: N,
): (tenant: string) => Settings[N] | NonNullable<ClientKey[N]> {
  const own = new Map(settings.keys.map((key) => [key.name, key[name]]));
  return (tenant) => own.get(tenant) ?? settings[name];
}

/**
 * Looks up the settings that determine the prompt of a request: those of the tenant's key, otherwise of the preset, otherwise the
 * general ones.
 */
export type PromptRulesOf = (tenant: string, preset: Preset | undefined) => PromptRules;

export function createPromptRules(settings: Settings): PromptRulesOf {
  const own = new Map(settings.keys.map((key) => [key.name, key]));
  return (tenant, preset) => {
    const key = own.get(tenant);
    return {
      nameShield: key?.nameShield ?? preset?.nameShield ?? settings.nameShield,
      trainedTools: key?.trainedTools ?? preset?.trainedTools ?? settings.trainedTools,
    };
  };
}
