/** Whether the names of a client's functions are shielded: as its key, its preset or else the general setting says. */
import type { Preset } from "../turn/preset.ts";
import type { Settings } from "./settings.ts";

export type ShieldsNames = (tenant: string, preset: Preset | undefined) => boolean;

export function createShieldsNames({ keys, nameShield }: Settings): ShieldsNames {
  const own = new Map(keys.map((key) => [key.name, key.nameShield]));
  return (tenant, preset) => (own.get(tenant) ?? preset?.nameShield ?? nameShield) === "on";
}
