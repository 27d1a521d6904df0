/**
 * Merges the values from flags, variables and a file, and checks them. Reports all problems at once, each with the setting's name
 * in the operator's spelling.
 */
import type * as z from "zod";
import { contradictions } from "./contradictions.ts";
import { describedSettings, type SettingDescription } from "./describe.ts";
import type { Deployment, SettingInput } from "./setting-input.ts";
import { parseSettings, type SettingIssue, type SettingName, type Settings } from "./settings.ts";
import { suggest } from "./suggest.ts";
import { hidePassword } from "./without-secrets.ts";

/**
 * The operator's mistakes, one line each.
 *
 * @example
 * ```ts
 * import { resolveSettings, SettingsError } from "harmony-gateway";
 *
 * let problems: readonly string[] = [];
 * try {
 *   resolveSettings([{ name: "port", value: "http", source: "--port" }], { public: false });
 * } catch (error) {
 *   if (error instanceof SettingsError) problems = error.problems;
 * }
 * problems.length; // => 1
 * ```
 */
export class SettingsError extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join("\n"));
    this.name = "SettingsError";
    this.problems = problems;
  }
}

/**
 * The effective settings. Of several values for one setting, the first in `given` takes precedence.
 * @throws SettingsError
 *
 * @example
 * ```ts
 * import { resolveSettings } from "harmony-gateway";
 *
 * const settings = resolveSettings(
 *   [{ name: "engine", value: "vllm", source: "my configuration" }],
 *   { public: false },
 * );
 * settings.engine; // => "vllm"
 * ```
 */
export function resolveSettings(given: readonly SettingInput[], deployment: Deployment): Settings {
  const byName = new Map<SettingName, SettingInput>();
  for (const each of given) if (!byName.has(each.name)) byName.set(each.name, each);

  const values = new Map([...byName.values()].map((each) => [each.name, each.value]));
  const parsed = parseSettings(values);
  if (parsed.issues.length > 0) {
    throw new SettingsError(parsed.issues.flatMap((each) => toProblems(each, byName)));
  }
  const settings = withKind(parsed.settings, byName);
  const problems = contradictions(settings, byName, deployment);
  if (problems.length > 0) throw new SettingsError(problems);
  return settings;
}

/** Sets the kind of engine. A configured server or model turns the demo off. */
function withKind(settings: Settings, given: ReadonlyMap<SettingName, SettingInput>): Settings {
  const isNamed = given.has("url") || given.has("model");
  return isNamed && !given.has("engine") ? { ...settings, engine: "auto" } : settings;
}

function toProblems(
  { name, issue }: SettingIssue,
  given: ReadonlyMap<SettingName, SettingInput>,
): string[] {
  const setting = describedSettings().find((each) => each.name === name);
  const source = given.get(name);
  if (setting === undefined || source === undefined) return [issue.message];
  const hint = toHint(issue);
  if (issue.path.length === 0) {
    return [`${source.source}: expected ${setting.expected}${got(setting, source.value)}.${hint}`];
  }
  const where = `${source.source}: ${toPath(name, issue.path)}`;
  if (issue.code === "unrecognized_keys") {
    return issue.keys.map(
      (key) => `${where}: there is no ${key}.${suggest(key, setting.itemKeys)}`,
    );
  }
  const isChoice = issue.code === "invalid_value" && issue.input !== undefined;
  return [`${where}: ${issue.message}${isChoice ? got(setting, issue.input) : ""}.${hint}`];
}

/** Returns ` Did you mean …?` for a value that is similar to a choice. */
function toHint(issue: z.core.$ZodIssue): string {
  if (issue.code !== "invalid_value" || typeof issue.input !== "string") return "";
  return suggest(issue.input, issue.values.map(String));
}

/** Converts `["keys", 0, "name"]` to `keys[0].name`. */
function toPath(name: string, rest: readonly PropertyKey[]): string {
  const parts = rest.map((key) => (typeof key === "number" ? `[${key}]` : `.${String(key)}`));
  return name + parts.join("");
}

/** Returns `, got "abc"`, unless the value is secret. */
function got(setting: SettingDescription, value: unknown): string {
  if (setting.secret) return "";
  return `, got ${JSON.stringify(typeof value === "string" ? hidePassword(value) : value)}`;
}
