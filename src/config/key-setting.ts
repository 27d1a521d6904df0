/** Settings that a key may have for itself. */
import type { Settings } from "./settings.ts";

type ClientKey = Settings["keys"][number];

type KeySetting = keyof Settings & Exclude<keyof ClientKey, "name" | "sha256">;

/** Gives a tenant's own value of a setting, or the general one where its key has none. */
export function createKeySetting<N extends KeySetting>(
  settings: Settings,
  name: N,
): (tenant: string) => Settings[N] | NonNullable<ClientKey[N]> {
  const own = new Map(settings.keys.map((key) => [key.name, key[name]]));
  return (tenant) => own.get(tenant) ?? settings[name];
}
