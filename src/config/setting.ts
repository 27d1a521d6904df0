/** Defines a setting: its group, its type, its description, and the types that several settings share. */
import * as z from "zod";
import { lazy } from "../lazy.ts";

/** The groups settings are listed in, in this order. */
export const SETTING_GROUPS = {
  listening: "Listening",
  engine: "Engine",
  harmony: "Harmony",
  steering: "Steering",
  reasoning: "Reasoning",
  api: "Responses and Messages APIs",
  media: "Images and files",
  tools: "Tools the gateway runs",
  store: "Store",
  access: "Access",
  limits: "Limits",
  log: "Log",
  inspect: "Seeing turns",
} as const;

export type SettingGroup = keyof typeof SETTING_GROUPS;

/** The description of a setting for operators. */
interface SettingMeta {
  readonly group: SettingGroup;
  /** One or two sentences from which an operator can decide. */
  readonly description: string;
  /** Its value never appears in output. */
  readonly secret?: true;
  /** Only the command on Node can honour it; see `node-only.ts`. The description that is shown says so. */
  readonly nodeOnly?: true;
  /** What a value looks like, where the description derived from the type is unclear. */
  readonly expected?: string;
}

/** The schemas are made at first use: an operator sets few of the settings, and all schemas take a Worker milliseconds. */
export interface Setting<S extends z.ZodType = z.ZodType> extends SettingMeta {
  /** The schema of a value that is given. */
  readonly type: () => z.ZodType;
  /** The schema of a value that may be absent. */
  readonly schema: () => S;
  /** Undefined: not set. */
  readonly default?: unknown;
}

type MetaOf<T> = Omit<SettingMeta, "group"> & T;

/** @param type makes the schema of its value. */
export function setting<T extends z.ZodType>(
  group: SettingGroup,
  type: () => T,
  meta: MetaOf<{ readonly default: z.core.util.NoUndefined<z.output<T>> }>,
): Setting<z.ZodDefault<T>>;
export function setting<T extends z.ZodType>(
  group: SettingGroup,
  type: () => T,
  meta: MetaOf<{ readonly default?: never }>,
): Setting<z.ZodOptional<T>>;
export function setting(
  group: SettingGroup,
  makeType: () => z.ZodType,
  meta: MetaOf<{ readonly default?: unknown }>,
): Setting {
  const type = lazy(makeType);
  const { default: value } = meta;
  const schema = lazy(() => (value === undefined ? type().optional() : type().default(value)));
  return { ...meta, group, type, schema };
}

// Values

export const bytes = () => z.int().min(1);
/** Node's longest timer. It treats longer delays as 1 ms. */
const MAX_TIMER_MS = 2_147_483_647;
export const milliseconds = (least = 1) => z.int().min(least).max(MAX_TIMER_MS);
export const count = () => z.int().min(1);
export const url = () =>
  z.url({ protocol: /^https?$/, error: "expected a URL that begins with http:// or https://" });
