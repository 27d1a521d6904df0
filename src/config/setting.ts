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
  /** A program that embeds the gateway has its own: `createGateway` has no such option. */
  readonly ofServer?: true;
  /** A reload cannot change it: what it describes is made once, at the start. */
  readonly fixed?: true;
  /** Listed first in `--help all` and the docs; the others are listed as advanced. */
  readonly common?: true;
  /** What a value looks like, where the description derived from the type is unclear. */
  readonly expected?: string;
}

/** The schemas are made at first use: an operator sets few of the settings, and all schemas take a Worker milliseconds. */
export interface Setting<
  S extends z.ZodType = z.ZodType,
  T extends z.ZodType = z.ZodType,
  P extends true | undefined = true | undefined,
> extends SettingMeta {
  /** The schema of a value that is given. */
  readonly type: () => T;
  /** The schema of a value that may be absent. */
  readonly schema: () => S;
  /** Undefined: not set. */
  readonly default?: unknown;
  /** A key may have a value of its own. The description that is shown says so. */
  readonly perKey?: P;
}

type MetaOf<T> = Omit<SettingMeta, "group"> & T;

/** @param type makes the schema of its value. */
export function setting<T extends z.ZodType, P extends true | undefined = undefined>(
  group: SettingGroup,
  type: () => T,
  meta: MetaOf<{ readonly default: z.core.util.NoUndefined<z.output<T>>; readonly perKey?: P }>,
): Setting<z.ZodDefault<T>, T, P>;
export function setting<T extends z.ZodType, P extends true | undefined = undefined>(
  group: SettingGroup,
  type: () => T,
  meta: MetaOf<{ readonly default?: never; readonly perKey?: P }>,
): Setting<z.ZodOptional<T>, T, P>;
export function setting(
  group: SettingGroup,
  makeType: () => z.ZodType,
  meta: MetaOf<{ readonly default?: unknown; readonly perKey?: true | undefined }>,
): Setting {
  const type = lazy(makeType);
  const { default: value } = meta;
  const schema = lazy(() => (value === undefined ? type().optional() : type().default(value)));
  return { ...meta, group, type, schema };
}

type PerKey<D extends Readonly<Record<string, Setting>>> = {
  [N in keyof D as D[N] extends Setting<z.ZodType, z.ZodType, true> ? N : never]: z.ZodOptional<
    ReturnType<D[N]["type"]>
  >;
};

/** The fields of a key, by the settings that say so. */
export function perKeyFields<D extends Readonly<Record<string, Setting>>>(settings: D): PerKey<D>;
export function perKeyFields(
  settings: Readonly<Record<string, Setting>>,
): Record<string, z.ZodType> {
  const own = Object.entries(settings).filter(([, { perKey }]) => perKey === true);
  return Object.fromEntries(own.map(([name, { type }]) => [name, type().optional()]));
}

// Values

export const bytes = () => z.int().min(1);
/** Node's longest timer. It treats longer delays as 1 ms. */
const MAX_TIMER_MS = 2_147_483_647;
export const milliseconds = (least = 1) => z.int().min(least).max(MAX_TIMER_MS);
export const count = () => z.int().min(1);
export const url = () =>
  z.url({ protocol: /^https?$/, error: "expected a URL that begins with http:// or https://" });
