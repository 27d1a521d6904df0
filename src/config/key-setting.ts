/** Settings that a key can override, and some of them a preset. */
import type { Preset } from "../turn/preset.ts";
import type { Settings } from "./settings.ts";

type ClientKey = Settings["keys"][number];

type KeySetting = keyof Settings & Exclude<keyof ClientKey, "name" | "sha256">;

/** Looks up a setting for a tenant: its key's own value, or else the general one. */
export function createKeySetting<N extends KeySetting>(
  settings: Settings,
  name: N,
): (tenant: string) => Settings[N] | NonNullable<ClientKey[N]> {
  const own = new Map(settings.keys.map((key) => [key.name, key[name]]));
  return (tenant) => own.get(tenant) ?? settings[name];
}

/** Looks up a setting for a request: the value of the tenant's key, else that of the preset, else the general one. */
export type RequestSetting<N extends KeySetting & keyof Preset> = (
  tenant: string,
  preset: Preset | undefined,
) => Settings[N] | NonNullable<ClientKey[N]> | NonNullable<Preset[N]>;

export function createRequestSetting<N extends KeySetting & keyof Preset>(
  settings: Settings,
  name: N,
): RequestSetting<N> {
  const own = new Map(settings.keys.map((key) => [key.name, key[name]]));
  return (tenant, preset) => own.get(tenant) ?? preset?.[name] ?? settings[name];
}
