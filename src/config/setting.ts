/** Defines a setting: its group, its type, its description, and the types that several settings share. */
import * as z from "zod";
import { lazy } from "../lazy.ts";

/** The groups of settings, in the order of lists. */
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
  /** One or two sentences on which an operator can decide. */
  readonly description: string;
  /** The value never appears in output. */
  readonly secret?: true;
  /** The setting requires the command on Node; see `node-only.ts`. A sentence about it is added to the description. */
  readonly nodeOnly?: true;
  /** The setting belongs to the server, which a program that embeds the gateway supplies: `createGateway` has no such option. */
  readonly ofServer?: true;
  /** A reload cannot change the setting: its object is created once, at the start. */
  readonly fixed?: true;
  /** Listed first in `--help all` and the docs; the others are listed as advanced. */
  readonly common?: true;
  /** The form of a value, where the description derived from the type is unclear. */
  readonly expected?: string;
}

/**
 * A setting with its schemas, which are created at first use: an operator sets few of the settings, and all schemas take a Worker
 * milliseconds.
 */
export interface Setting<
  S extends z.ZodType = z.ZodType,
  T extends z.ZodType = z.ZodType,
  P extends true | undefined = true | undefined,
> extends SettingMeta {
  /** The schema of a given value. */
  readonly type: () => T;
  /** The schema of an optional value. */
  readonly schema: () => S;
  /** Default value. Undefined: there is no default. */
  readonly default?: unknown;
  /** A key may have its own value. A sentence about it is added to the description. */
  readonly perKey?: P;
}

type MetaOf<T> = Omit<SettingMeta, "group"> & T;

/** @param type creates the schema of its value. */
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

/** The fields of a key, from the settings with `perKey`. */
export function perKeyFields<D extends Readonly<Record<string, Setting>>>(settings: D): PerKey<D>;
export function perKeyFields(
  settings: Readonly<Record<string, Setting>>,
): Record<string, z.ZodType> {
  const own = Object.entries(settings).filter(([, { perKey }]) => perKey === true);
  return Object.fromEntries(own.map(([name, { type }]) => [name, type().optional()]));
}

// Values

export const bytes = () => z.int().min(1);
/** Node's maximum timer. It treats longer delays as 1 ms. */
const MAX_TIMER_MS = 2_147_483_647;
export const milliseconds = (least = 1) => z.int().min(least).max(MAX_TIMER_MS);
export const count = () => z.int().min(1);
export const url = () =>
  z.url({ protocol: /^https?$/, error: "expected a URL that begins with http:// or https://" });
