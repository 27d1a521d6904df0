/** The settings as a list for help, docs and messages, derived from their definitions. */
import * as z from "zod";
import type { Setting, SettingGroup } from "./setting.ts";
import { listSettings, type SettingName } from "./settings.ts";
import { lazy } from "../lazy.ts";

/** The form of a setting on a command line or in a variable. */
export type SettingKind = "boolean" | "number" | "choice" | "text" | "list" | "object";

export const VARIABLE_PREFIX = "HARMONY_GATEWAY_";

/** All settings, in the order of the list. */
export const describedSettings: () => readonly SettingDescription[] = lazy(() =>
  listSettings().map(({ name, setting }) => new SettingDescription(name, setting)),
);

/** The description of a setting. Its schema is created only for the methods that depend on it. */
export class SettingDescription {
  readonly name: SettingName;
  /** Flag: `--max-body-bytes`. */
  readonly flag: string;
  /** Variable: `HARMONY_GATEWAY_MAX_BODY_BYTES`. */
  readonly variable: string;
  readonly group: SettingGroup;
  readonly description: string;
  /** Default value. Undefined: there is no default. */
  readonly defaultValue: unknown;
  readonly secret: boolean;
  /** The setting has no effect on Workers and in other programs. */
  readonly nodeOnly: boolean;
  /** Flags as described at `SettingMeta`. */
  readonly ofServer: boolean;
  readonly fixed: boolean;
  readonly common: boolean;
  readonly perKey: boolean;
  readonly #setting: Setting;

  constructor(name: SettingName, setting: Setting) {
    this.name = name;
    this.flag = toFlag(name);
    this.variable = toVariable(name);
    this.group = setting.group;
    this.nodeOnly = setting.nodeOnly ?? false;
    this.ofServer = setting.ofServer ?? false;
    this.fixed = setting.fixed ?? false;
    this.common = setting.common ?? false;
    this.perKey = setting.perKey ?? false;
    this.description =
      setting.description +
      (this.perKey ? " A key may have its own value." : "") +
      (this.nodeOnly ? " On Node only." : "");
    this.defaultValue = setting.default;
    this.secret = setting.secret ?? false;
    this.#setting = setting;
  }

  // The zod schema is read directly. The detour through a JSON Schema takes ten times as long.

  get kind(): SettingKind {
    return toKind(this.#setting.type());
  }

  /** The values of a choice. */
  get choices(): readonly string[] {
    return toChoices(this.#setting.type());
  }

  /** The form of a value: `a whole number from 0 to 65535`. */
  get expected(): string {
    return this.#setting.expected ?? toExpected(this.#setting.type());
  }

  /** Keys of the objects in a list or an object of objects, for suggestions. */
  get itemKeys(): readonly string[] {
    return toItemKeys(this.#setting.type());
  }
}

/** Converts a name to a flag: `--max-body-bytes` for `maxBodyBytes`. */
export function toFlag(name: string): string {
  return `--${toWords(name)}`;
}

/** Converts a name to a variable: `HARMONY_GATEWAY_MAX_BODY_BYTES` for `maxBodyBytes`. */
export function toVariable(name: string): string {
  return VARIABLE_PREFIX + toWords(name).replaceAll("-", "_").toUpperCase();
}

function toWords(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

function toKind(type: unknown): SettingKind {
  if (type instanceof z.ZodEnum) return "choice";
  if (type instanceof z.ZodBoolean) return "boolean";
  if (type instanceof z.ZodNumber) return "number";
  if (type instanceof z.ZodArray) return "list";
  if (type instanceof z.ZodRecord) return "object";
  return "text";
}

function toChoices(type: unknown): string[] {
  return type instanceof z.ZodEnum ? type.options.map(String) : [];
}

function toExpected(type: unknown): string {
  if (type instanceof z.ZodEnum) return `one of ${type.options.join(", ")}`;
  if (type instanceof z.ZodBoolean) return "true or false";
  if (type instanceof z.ZodNumber) {
    const { minValue, maxValue } = type;
    // An integer without a maximum has the largest safe integer.
    return maxValue === Number.MAX_SAFE_INTEGER
      ? `a whole number, ${minValue} or more`
      : `a whole number from ${minValue} to ${maxValue}`;
  }
  if (type instanceof z.ZodArray) return "a list";
  return type instanceof z.ZodURL ? "a URL that begins with http:// or https://" : "some text";
}

function toItemKeys(type: unknown): string[] {
  if (type instanceof z.ZodRecord) return toKeys(type.valueType);
  return type instanceof z.ZodArray ? toKeys(type.element) : [];
}

function toKeys(element: unknown): string[] {
  const item = element instanceof z.ZodPipe ? element.out : element;
  return item instanceof z.ZodObject ? Object.keys(item.shape) : [];
}
