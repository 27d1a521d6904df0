/**
 * Every setting of the gateway, in one list. Flags, environment variables, `--help`, the table in `docs/settings.md` and the list
 * printed at start are all generated from it. To add a setting, add one line to its group in `settings/` and read it where it is
 * used.
 *
 * `node/cli/settings.ts` and `worker.ts` collect the values, `config/resolve.ts` merges and checks them.
 */
import * as z from "zod";
import { lazy } from "../lazy.ts";
import type { Setting } from "./setting.ts";
import { accessSettings } from "./settings/access.ts";
import { apiSettings } from "./settings/api.ts";
import { engineSettings } from "./settings/engine.ts";
import { harmonySettings } from "./settings/harmony.ts";
import { inspectSettings } from "./settings/inspect.ts";
import { limitSettings } from "./settings/limits.ts";
import { listeningSettings } from "./settings/listening.ts";
import { logSettings } from "./settings/log.ts";
import { mediaSettings } from "./settings/media.ts";
import { reasoningSettings } from "./settings/reasoning.ts";
import { steeringSettings } from "./settings/steering.ts";
import { storeSettings } from "./settings/store.ts";
import { toolSettings } from "./settings/tools.ts";

const settingsByName = lazy(() => ({
  ...listeningSettings(),
  ...engineSettings(),
  ...harmonySettings(),
  ...steeringSettings(),
  ...reasoningSettings(),
  ...apiSettings(),
  ...mediaSettings(),
  ...toolSettings(),
  ...storeSettings(),
  ...accessSettings(),
  ...limitSettings(),
  ...logSettings(),
  ...inspectSettings(),
}));

export type SettingName = keyof ReturnType<typeof settingsByName>;

/** All settings, in the order of their groups. */
export const listSettings = lazy(() =>
  Object.entries<Setting>(settingsByName()).flatMap(([name, setting]) => {
    return isSettingName(name) ? [{ name, setting }] : [];
  }),
);

function isSettingName(name: string): name is SettingName {
  return Object.hasOwn(settingsByName(), name);
}

// `z.lazy` caches the schema for parsing, but creates another one for each `unwrap`.
/**
 * @example
 * ```ts
 * import { settingsSchema } from "harmony-gateway";
 *
 * settingsSchema.parse({}).port; // => 8787
 * ```
 */
export const settingsSchema = z.lazy(lazy(() => z.strictObject(toShape(settingsByName()))));

type Shape<D extends Readonly<Record<string, Setting>>> = {
  [Name in keyof D]: ReturnType<D[Name]["schema"]>;
};

function toShape<D extends Readonly<Record<string, Setting>>>(settings: D): Shape<D>;
function toShape(settings: Readonly<Record<string, Setting>>): Record<string, z.ZodType> {
  const schemas = Object.entries(settings).map(([name, { schema }]) => [name, schema()] as const);
  return Object.fromEntries(schemas);
}

export type Settings = z.output<typeof settingsSchema>;

interface ParsedSettings {
  /** The settings without invalid ones. */
  readonly settings: Settings;
  readonly issues: readonly SettingIssue[];
}

/** A problem with the value of a setting. The path of the issue begins within that value. */
export interface SettingIssue {
  readonly name: SettingName;
  readonly issue: z.core.$ZodIssue;
}

/** Parses like {@link settingsSchema}, with the schemas of the given values only. */
export function parseSettings(given: ReadonlyMap<SettingName, unknown>): ParsedSettings;
export function parseSettings(given: ReadonlyMap<SettingName, unknown>): {
  readonly settings: object;
  readonly issues: readonly SettingIssue[];
} {
  const issues: SettingIssue[] = [];
  const parsed: [name: SettingName, value: unknown][] = [];
  for (const { name, setting } of listSettings()) {
    const value = given.get(name);
    const options = { error: describeIssue, reportInput: true };
    const result = value === undefined ? undefined : setting.type().safeParse(value, options);
    if (result?.success === false) {
      issues.push(...result.error.issues.map((issue) => ({ name, issue })));
      continue;
    }
    const effective = result ? result.data : setting.default;
    if (effective !== undefined) parsed.push([name, effective]);
  }
  return { settings: Object.fromEntries(parsed), issues };
}

/** Undefined: zod's own text, for issues that only arise with a message in their schema. */
function describeIssue(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case "invalid_type":
      return issue.input === undefined
        ? "is missing"
        : `expected ${TYPES.get(issue.expected) ?? issue.expected}`;
    case "invalid_value":
      return `expected one of ${issue.values.join(", ")}`;
    case "too_small":
      return issue.inclusive === false
        ? `expected more than ${issue.minimum}`
        : `expected ${toMeasure(issue.origin)}${issue.minimum} or more`;
    case "too_big":
      return `expected ${toMeasure(issue.origin)}${issue.maximum} or less`;
    default:
      return undefined;
  }
}

const TYPES = new Map([
  ["string", "some text"],
  ["number", "a number"],
  ["int", "a whole number"],
  ["boolean", "true or false"],
  ["array", "a list"],
  ["object", "an object"],
  ["record", "an object"],
]);

function toMeasure(origin: string): string {
  return origin === "string" || origin === "array" ? "a length of " : "";
}
