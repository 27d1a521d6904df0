/** Reads settings on Node: from the command line, the environment, and a JSON file named by either. */
import { parseArgs } from "node:util";
import { explainFile, readOrdinaryFile } from "../explain-file.ts";
import { type Command, parseJsonInput } from "./command-io.ts";
import { toExpiry } from "../../api/auth.ts";
import { isGgufFile } from "../../config/backends.ts";
import type { Settings } from "../../config/settings.ts";
import { portWarnings } from "../../config/contradictions.ts";
import {
  describedSettings,
  type SettingDescription,
  VARIABLE_PREFIX,
} from "../../config/describe.ts";
import { resolveSettings, SettingsError } from "../../config/resolve.ts";
import { suggest } from "../../config/suggest.ts";
import { fromText } from "../../config/from-text.ts";
import type { Deployment, SettingInput } from "../../config/setting-input.ts";
import { withoutSecrets } from "../../config/without-secrets.ts";

/** The flag that names the config file. It is not a setting, as that file cannot set it. */
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
  deployment: Deployment = { public: false },
): LoadedSettings {
  const flags = readFlags(args);
  const variables = readVariables(environment);
  const path = flags.configPath ?? environment[CONFIG_VARIABLE];
  const named = flags.configPath === undefined ? CONFIG_VARIABLE : CONFIG_FLAG;
  const file = path === undefined ? NONE : readFile(path, named);
  const sources = [flags, variables, file];
  const settings = resolveAll(sources, deployment);
  const ownWarnings = [...portWarnings(settings), ...keyWarnings(settings)];
  return { settings, warnings: [...sources.flatMap(({ warnings }) => warnings), ...ownWarnings] };
}

/** Resolves the settings, and reports all mistakes at once, including wrong names. */
function resolveAll(sources: readonly Source[], deployment: Deployment): Settings {
  const problems = sources.flatMap((source) => source.problems);
  try {
    const given = sources.flatMap((source) => source.given);
    const settings = resolveSettings(given, deployment);
    if (problems.length === 0) return settings;
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    problems.push(...error.problems);
  }
  throw new SettingsError(problems);
}

/** Warnings about keys that no client can use: the gateway starts with them, and answers 401. */
function keyWarnings({ keys }: Settings): string[] {
  return keys.flatMap(({ name, expires }) =>
    expires !== undefined && toExpiry(expires).at <= Date.now()
      ? [`keys: the key ${name} has expired (${expires}). Give it a later expires, or remove it.`]
      : [],
  );
}

/** Settings from one source. */
interface Source {
  readonly given: readonly SettingInput[];
  readonly warnings: readonly string[];
  /** Mistakes in names of settings. */
  readonly problems: readonly string[];
}

const NONE: Source = { given: [], warnings: [], problems: [] };

/**
 * Reads `--name value`, `--name=value`, `--yes`, `--no-yes`, or a bare URL or GGUF file. A list may be given by several flags.
 * The tokens are checked here, as the strict mode of `parseArgs` stops at the first problem and suggests nothing.
 */
function readFlags(args: readonly string[]): Source & { readonly configPath: string | undefined } {
  const given = new Map<string, SettingInput>();
  const problems: string[] = [];
  let configPath: string | undefined;
  /** Index of an unknown flag's possible value, which is not reported as another mistake. */
  let skipped = -1;

  for (const token of tokenize(args)) {
    if (token.kind === "option-terminator") continue;
    if (token.kind === "positional") {
      const input = toBareInput(token.value);
      if (input !== undefined) add(input);
      else if (token.index !== skipped) {
        problems.push(`${token.value}: is not a flag; settings begin with --.`);
      }
      continue;
    }
    const { rawName: flag, value: text } = token;
    const setting = describedSettings().find((each) => each.flag === `--${token.name}`);
    const isNegated = flag === `--no-${token.name}`;
    if (setting?.kind === "boolean" && text === undefined) {
      add({ name: setting.name, value: !isNegated, source: flag });
    } else if (isNegated || (setting === undefined && flag !== CONFIG_FLAG)) {
      // `-abc` is three tokens, but one mistake.
      const written = flag.startsWith("--") ? flag : (args[token.index] ?? flag);
      if (token.index + 1 !== skipped) problems.push(unknownFlag(written));
      if (text === undefined) skipped = token.index + 1;
    } else if (text === undefined) {
      problems.push(`${flag}: expected a value after it.`);
    } else if (setting === undefined) {
      configPath = text;
    } else {
      add({ name: setting.name, value: fromText(setting, text), source: flag });
    }
  }
  return { given: [...given.values()], warnings: [], problems, configPath };

  /** Joins lists given by several flags. Any other setting may be given only once. */
  function add(input: SettingInput): void {
    const before = given.get(input.name);
    if (before === undefined) {
      given.set(input.name, input);
    } else if (Array.isArray(before.value) && Array.isArray(input.value)) {
      given.set(input.name, { ...input, value: [...before.value, ...input.value] });
    } else {
      problems.push(`${input.source}: is given twice.`);
    }
  }
}

/** A URL or a GGUF file, accepted without a flag. */
export function toBareInput(text: string): SettingInput | undefined {
  if (/^https?:\/\//i.test(text)) return { name: "url", value: text, source: text };
  if (isGgufFile(text)) return { name: "model", value: text, source: text };
  return undefined;
}

function tokenize(args: readonly string[]) {
  const written = new Set(args.map((arg) => arg.replace(/^--(no-)?|=.*$/gs, "")));
  const flags = describedSettings().flatMap((setting) => {
    const name = setting.flag.slice(2);
    // Computing the kinds of all settings takes milliseconds.
    if (!written.has(name)) return [];
    return [[name, { type: setting.kind === "boolean" ? "boolean" : "string" }] as const];
  });
  const options = {
    ...Object.fromEntries(flags),
    [CONFIG_FLAG.slice(2)]: { type: "string" } as const,
  };
  return parseArgs({ args: [...args], options, strict: false, allowNegative: true, tokens: true })
    .tokens;
}

function unknownFlag(flag: string): string {
  const known = describedSettings().map((each) => each.flag);
  return `${flag}: there is no such flag.${suggest(flag, [...known, CONFIG_FLAG, "--help", "--version"])}`;
}

function readVariables(environment: Readonly<Record<string, string | undefined>>): Source {
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
  return { given, warnings, problems: [] };
}

/**
 * For a service called `harmony-gateway`, Kubernetes sets such variables in every pod. The variable
 * `HARMONY_GATEWAY_PORT=tcp://10.0.0.1:8787` has the name of a setting.
 */
function isKubernetesLink(variable: string, text: string): boolean {
  return /_(SERVICE|PORT)_/.test(variable) || (variable.endsWith("_PORT") && text.includes("://"));
}

/** @param named the flag or variable with the path. */
function readFile(path: string, named: string): Source {
  const file = parseFile(path, named);
  const problems: string[] = [];
  const given: SettingInput[] = [];
  for (const [name, value] of Object.entries(file)) {
    const setting = describedSettings().find((each: SettingDescription) => each.name === name);
    const source = `${name} in ${path}`;
    if (setting !== undefined) given.push({ name: setting.name, value, source });
    else {
      const names = describedSettings().map((each) => each.name);
      problems.push(`${source}: there is no such setting.${suggest(name, names)}`);
    }
  }
  return { given, warnings: [], problems };
}

/** Maximum bytes of the config file: far more than a thousand keys with all their settings take. */
export const MAX_FILE_BYTES = 16_000_000;

function parseFile(path: string, named: string): object {
  let text: string;
  try {
    text = readOrdinaryFile(path, MAX_FILE_BYTES).toString("utf8");
  } catch (error) {
    throw new SettingsError([`${named} ${explainFile(error, path) ?? toReason(error)}`]);
  }
  let value: unknown;
  try {
    value = parseJsonInput(text, path);
  } catch (error) {
    throw new SettingsError([`${named} ${toReason(error)}`]);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new SettingsError([`${named} ${path}: must contain a JSON object.`]);
  }
  return value;
}

function toReason(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** `harmony-gateway config`: prints the settings in effect. */
export const CONFIG: Command = {
  usage: "harmony-gateway config [settings]    print the settings in effect, without secrets",
  run(args, { environment, print }) {
    const { settings } = loadSettings(args, environment);
    print(JSON.stringify(withoutSecrets(settings), undefined, 2));
    return 0;
  },
};
