/** Reads settings on Node: from the command line, the environment, and a JSON file named by either. */
import { readFileSync } from "node:fs";
import type { Settings } from "../config/settings.ts";
import { describedSettings, VARIABLE_PREFIX, type SettingDescription } from "../config/describe.ts";
import {
  fromText,
  type SettingInput,
  resolveSettings,
  SettingsError,
  suggest,
} from "../config/resolve.ts";

/** Names the config file. Not a setting, as it cannot be set in that file. */
export const CONFIG_FLAG = "--config";
export const CONFIG_VARIABLE = `${VARIABLE_PREFIX}CONFIG`;

export interface LoadedSettings {
  readonly settings: Settings;
  /** Likely mistakes that do not prevent the start. */
  readonly warnings: readonly string[];
}

/**
 * Precedence: flags, variables, file, defaults.
 * @throws SettingsError
 */
export function loadSettings(
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): LoadedSettings {
  const flags = readFlags(args);
  const variables = readVariables(environment);
  const path = flags.configPath ?? environment[CONFIG_VARIABLE];
  const file = path === undefined ? [] : readFile(path);
  const given = [...flags.given, ...variables.given, ...file];
  return {
    settings: resolveSettings(given, { public: false }),
    warnings: variables.warnings,
  };
}

/** `--name value`, `--name=value`, `--yes`, `--no-yes`. A list may be given by several flags. */
function readFlags(args: readonly string[]): {
  given: SettingInput[];
  configPath: string | undefined;
} {
  const given: SettingInput[] = [];
  const problems: string[] = [];
  let configPath: string | undefined;
  const rest = [...args];

  for (let arg = rest.shift(); arg !== undefined; arg = rest.shift()) {
    const [flag, inline] = splitFlag(arg);
    const setting = describedSettings().find((each) => each.flag === flag);
    const negated = describedSettings().find(
      (each) => each.kind === "boolean" && flag === each.flag.replace("--", "--no-"),
    );
    if (negated !== undefined && inline === undefined) {
      given.push({ name: negated.name, value: false, source: flag });
    } else if (setting?.kind === "boolean" && inline === undefined) {
      given.push({ name: setting.name, value: true, source: flag });
    } else if (setting !== undefined || flag === CONFIG_FLAG) {
      const text = inline ?? rest.shift();
      if (text === undefined) problems.push(`${flag}: expected a value after it.`);
      else if (setting === undefined) configPath = text;
      else given.push({ name: setting.name, value: fromText(setting, text), source: flag });
    } else {
      problems.push(unknownArgument(flag));
      // The next argument is most likely its value: do not report it too.
      if (inline === undefined && rest[0]?.startsWith("-") === false) rest.shift();
    }
  }
  if (problems.length > 0) throw new SettingsError(problems);
  return { given: joinRepeated(given), configPath };
}

function splitFlag(arg: string): [flag: string, inline?: string] {
  const equals = arg.startsWith("--") ? arg.indexOf("=") : -1;
  return equals === -1 ? [arg] : [arg.slice(0, equals), arg.slice(equals + 1)];
}

function unknownArgument(flag: string): string {
  if (!flag.startsWith("-")) return `${flag}: is not a flag; settings begin with --.`;
  const known = [
    ...describedSettings().map((each) => each.flag),
    CONFIG_FLAG,
    "--help",
    "--version",
  ];
  return `${flag}: there is no such flag.${suggest(flag, known)}`;
}

/** Joins lists given by several flags. Any other setting may be given only once. */
function joinRepeated(given: readonly SettingInput[]): SettingInput[] {
  const joined = new Map<string, SettingInput>();
  for (const each of given) {
    const before = joined.get(each.name);
    if (before === undefined) {
      joined.set(each.name, each);
    } else if (Array.isArray(before.value) && Array.isArray(each.value)) {
      joined.set(each.name, { ...each, value: [...before.value, ...each.value] });
    } else {
      throw new SettingsError([`${each.source}: is given twice.`]);
    }
  }
  return [...joined.values()];
}

function readVariables(environment: Readonly<Record<string, string | undefined>>): {
  given: SettingInput[];
  warnings: string[];
} {
  const given: SettingInput[] = [];
  const warnings: string[] = [];
  for (const [variable, text] of Object.entries(environment)) {
    if (!variable.startsWith(VARIABLE_PREFIX) || variable === CONFIG_VARIABLE) continue;
    if (text === undefined || isKubernetesLink(variable, text)) continue;
    const setting = describedSettings().find((each) => each.variable === variable);
    if (setting === undefined) {
      const known = describedSettings().map((each) => each.variable);
      warnings.push(`${variable}: there is no such setting.${suggest(variable, known)}`);
    } else {
      given.push({ name: setting.name, value: fromText(setting, text), source: variable });
    }
  }
  return { given, warnings };
}

/**
 * For a service called `harmony-gateway`, Kubernetes sets such variables in every pod. One of them,
 * `HARMONY_GATEWAY_PORT=tcp://10.0.0.1:8787`, has the name of a setting.
 */
function isKubernetesLink(variable: string, text: string): boolean {
  return /_(SERVICE|PORT)_/.test(variable) || (variable.endsWith("_PORT") && text.includes("://"));
}

function readFile(path: string): SettingInput[] {
  const file = parseFile(path);
  const problems: string[] = [];
  const given: SettingInput[] = [];
  for (const [name, value] of Object.entries(file)) {
    const setting = describedSettings().find((each: SettingDescription) => each.name === name);
    if (setting !== undefined)
      given.push({ name: setting.name, value, source: `${name} in ${path}` });
    else {
      const names = describedSettings().map((each) => each.name);
      problems.push(`${name} in ${path}: there is no such setting.${suggest(name, names)}`);
    }
  }
  if (problems.length > 0) throw new SettingsError(problems);
  return given;
}

function parseFile(path: string): object {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    throw new SettingsError([`${path}: the config file cannot be read (${toReason(error)}).`]);
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new SettingsError([`${path}: the config file is not valid JSON (${toReason(error)}).`]);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new SettingsError([`${path}: the config file must contain a JSON object.`]);
  }
  return value;
}

function toReason(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
