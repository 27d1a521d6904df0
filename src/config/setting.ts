/** Describes a setting: its group, its description, and the schemas that several settings share. */
import * as z from "zod";

/** The groups settings are listed in, in this order. */
export const SETTING_GROUPS = {
  listening: "Listening",
  engine: "Engine",
  harmony: "Harmony",
  steering: "Steering",
  reasoning: "Reasoning",
  api: "Responses and Messages APIs",
  tools: "Tools the gateway runs",
  store: "Store",
  access: "Access",
  limits: "Limits",
  log: "Log",
  inspect: "Seeing turns",
} as const;

export type SettingGroup = keyof typeof SETTING_GROUPS;

/** A setting's metadata. */
export interface SettingMeta {
  readonly group: SettingGroup;
  /** One or two sentences from which an operator can decide. */
  readonly description: string;
  /** Its value never appears in output. */
  readonly secret?: true;
  /** What a value looks like, where the description derived from the schema is unclear. */
  readonly expected?: string;
}

/** A setting's schema, with its metadata. */
export function setting<S extends z.ZodType>(
  group: SettingGroup,
  schema: S,
  meta: Omit<SettingMeta, "group">,
): S {
  settingMetas.add(schema, { group, ...meta });
  return schema;
}

/** Group and description of each member of the settings schema. */
export const settingMetas = z.registry<SettingMeta>();

// Values

export const bytes = () => z.int().min(1);
/** Node's longest timer. It treats longer delays as 1 ms. */
const MAX_TIMER_MS = 2_147_483_647;
export const milliseconds = (least = 1) => z.int().min(least).max(MAX_TIMER_MS);
export const count = () => z.int().min(1);
export const url = () =>
  z.url({ protocol: /^https?$/, error: "expected a URL that begins with http:// or https://" });
