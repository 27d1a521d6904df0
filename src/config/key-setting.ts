/** Settings that a key can override. */
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
