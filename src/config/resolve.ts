/**
 * Merges the values given by flags, variables and a file, and checks that they fit together. Reports all problems at
 * once, each naming the setting as the operator wrote it.
 */
import { toBackends } from "./backends.ts";
import { parseSettings, type SettingIssue, type SettingName, type Settings } from "./settings.ts";
import { keyModelProblems, presetProblems } from "./preset-problems.ts";
import { withoutCredentials } from "./mcp-servers.ts";
import { portProblems } from "./port-sharing.ts";
import { ENGINES } from "../engines/create-engine.ts";
import { describedSettings, type SettingDescription } from "./describe.ts";

/** One value from one source. */
export interface SettingInput {
  readonly name: SettingName;
  readonly value: unknown;
  /** The source as the operator wrote it: `--port`, `HARMONY_GATEWAY_PORT`, `port in gateway.json`. */
  readonly source: string;
}

/** Where the gateway runs. Decides whether other machines can reach it. */
export interface Deployment {
  /** Other machines reach the gateway whatever `host` is, as on Workers. */
  readonly public: boolean;
  /** Nothing is served, the settings are only looked at: where a model runs need not be known. */
  readonly isDry?: boolean;
}

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
 * The effective settings. Of several values for one setting, the first in `given` wins.
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
    throw new SettingsError(parsed.issues.map((each) => toProblem(each, byName)));
  }
  const settings = withKind(parsed.settings, byName);
  const problems = contradictions(settings, byName, deployment);
  if (problems.length > 0) throw new SettingsError(problems);
  return settings;
}

/** An operator who names a server or a model does not want the demo. */
function withKind(settings: Settings, given: ReadonlyMap<SettingName, SettingInput>): Settings {
  const isNamed = given.has("url") || given.has("model");
  return isNamed && !given.has("engine") ? { ...settings, engine: "auto" } : settings;
}

/** Converts text to the type of its setting. Text that does not fit stays text, and the schema reports it. */
export function fromText(setting: SettingDescription, text: string): unknown {
  switch (setting.kind) {
    case "boolean":
      return fromBooleanText(text);
    case "number":
      return text.trim() === "" ? text : toNumber(text);
    case "list":
      return fromListText(text);
    case "object":
      return fromJsonText(text);
    case "choice":
    case "text":
      return text;
    default:
      return setting.kind satisfies never;
  }
}

/** The effective settings for printing: secrets are hidden, unset settings omitted. */
export function withoutSecrets(settings: Settings): Record<string, unknown> {
  const shown: Record<string, unknown> = {};
  for (const { name, secret } of describedSettings()) {
    const value = settings[name];
    if (value === undefined || isEmpty(value)) continue;
    shown[name] = secret ? HIDDEN : value;
  }
  return {
    ...shown,
    ...(settings.url !== undefined && { url: hidePassword(settings.url) }),
    store: hidePassword(settings.store),
    ...(!isEmpty(settings.mcpServers) && {
      mcpServers: withoutCredentials(settings.mcpServers, HIDDEN),
    }),
    // Instructions are content.
    ...(!isEmpty(settings.presets) && {
      presets: Object.fromEntries(
        Object.entries(settings.presets).map(([name, { instructions, ...preset }]) => [
          name,
          { ...preset, ...(instructions !== undefined && { instructions: HIDDEN }) },
        ]),
      ),
    }),
    keys: settings.keys.map((key) => key.name),
    backends: settings.backends.map((each) => ({
      ...each,
      ...(each.url !== undefined && { url: hidePassword(each.url) }),
      ...(each.engineKey !== undefined && { engineKey: HIDDEN }),
      // Headers and extra fields may contain other keys.
      ...(each.headers !== undefined && { headers: HIDDEN }),
      ...(each.extraBody !== undefined && { extraBody: HIDDEN }),
    })),
  };
}

/** A list or an object of nothing. */
function isEmpty(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.keys(value).length === 0;
}

/** ` Did you mean …?` for a misspelt name; empty if no known name is similar. */
export function suggest(name: string, known: readonly string[]): string {
  let best = { distance: Math.max(2, Math.floor(name.length / 3)) + 1, known: "" };
  for (const each of known) {
    const distance = editDistance(name, each);
    if (distance < best.distance) best = { distance, known: each };
  }
  return best.known === "" ? "" : ` Did you mean ${best.known}?`;
}

function toProblem(
  { name, issue }: SettingIssue,
  given: ReadonlyMap<SettingName, SettingInput>,
): string {
  const setting = describedSettings().find((each) => each.name === name);
  const source = given.get(name);
  if (setting === undefined || source === undefined) return issue.message;
  if (issue.path.length === 0) {
    return `${source.source}: expected ${setting.expected}${got(setting, source.value)}.`;
  }
  const where = `${source.source}: ${toPath(name, issue.path)}`;
  if (issue.code === "unrecognized_keys") {
    const [key = ""] = issue.keys;
    return `${where}: there is no ${key}.${suggest(key, setting.itemKeys)}`;
  }
  return `${where}: ${issue.message}.`;
}

/** `["keys", 0, "name"]` as `keys[0].name`. */
function toPath(name: string, rest: readonly PropertyKey[]): string {
  const parts = rest.map((key) => (typeof key === "number" ? `[${key}]` : `.${String(key)}`));
  return name + parts.join("");
}

/** `, got "abc"`, unless the value is secret. */
function got(setting: SettingDescription, value: unknown): string {
  if (setting.secret) return "";
  return `, got ${JSON.stringify(typeof value === "string" ? hidePassword(value) : value)}`;
}

/** Problems between settings that are each valid. */
function contradictions(
  settings: Settings,
  given: ReadonlyMap<SettingName, SettingInput>,
  deployment: Deployment,
): string[] {
  return [
    ...backendProblems(settings, given, deployment),
    ...presetProblems(settings, suggest),
    ...sealingProblems(settings),
    ...summaryProblems(settings),
    ...toolProblems(settings),
    ...accessProblems(settings, deployment),
    ...portProblems(settings),
  ];
}

const SINGLE_ENGINE: readonly SettingName[] = [
  "engine",
  "url",
  "model",
  "engineKey",
  "servedName",
  "aliases",
  "contextLength",
  "maxConcurrent",
  "tokenEndpoint",
];

function backendProblems(
  settings: Settings,
  given: ReadonlyMap<SettingName, SettingInput>,
  { isDry = false }: Deployment,
): string[] {
  const problems: string[] = [];
  if (settings.backends.length > 0) {
    for (const name of SINGLE_ENGINE) {
      const source = given.get(name)?.source;
      if (source !== undefined) {
        problems.push(
          `${source}: has no effect together with backends. Set it in the entries of that list.`,
        );
      }
    }
  }
  for (const backend of toBackends(settings)) {
    const { engine, model, url } = backend;
    if (url !== undefined || isDry) continue;
    if (engine === "auto") {
      const source = given.get("model")?.source ?? given.get("engine")?.source ?? "backends";
      const orHere = model.startsWith("openai/gpt-oss")
        ? ", or --engine llama to download it and run it in this process"
        : "";
      problems.push(
        `${source}: nothing says where ${model} runs. Add the URL of its inference server, for instance ` +
          `--url http://127.0.0.1:8000${orHere}.`,
      );
    } else if (ENGINES[engine].url === "required") {
      problems.push(
        `engine ${engine}: needs the server's url, for instance --url http://127.0.0.1:8000.`,
      );
    }
  }
  const names = toBackends(settings).map(({ servedName, name }) => `${servedName} from ${name}`);
  const twice = findTwice(names);
  if (twice !== undefined) {
    problems.push(`backends: ${twice} is served twice. Give each backend a unique name.`);
  }
  return problems;
}

function sealingProblems(settings: Settings): string[] {
  const cipher = [settings, ...settings.keys].some((each) => each.reasoningPolicy === "sealed");
  if (!cipher || settings.sealingKeys.length > 0) return [];
  return [
    "reasoningPolicy sealed: requires sealingKeys. Create one with `harmony-gateway key --sealing`.",
  ];
}

function summaryProblems(settings: Settings): string[] {
  const hasPolicy = [settings, ...settings.keys].some((each) => each.reasoningPolicy === "summary");
  if (!hasPolicy || settings.reasoningSummaries) return [];
  return ["reasoningPolicy summary: requires reasoningSummaries, or no summary is ever made."];
}

function toolProblems(settings: Settings): string[] {
  return [...browserProblems(settings), ...pythonProblems(settings)];
}

function pythonProblems({ builtinTools, pythonRuntime, pythonUrl }: Settings): string[] {
  const isRemote = pythonRuntime === "http" || pythonRuntime === "mcp";
  if (!builtinTools.includes("python") || !isRemote || pythonUrl !== undefined) return [];
  return [`pythonRuntime ${pythonRuntime}: needs pythonUrl, the address of the sandbox.`];
}

function browserProblems(settings: Settings): string[] {
  const { builtinTools, browserSearch, browserSearchUrl, browserSearchKey } = settings;
  if (!builtinTools.includes("browser") || browserSearch === "local") return [];
  if (browserSearch === "searxng") {
    return browserSearchUrl === undefined
      ? ["browserSearch searxng: needs browserSearchUrl, for instance http://127.0.0.1:8080."]
      : [];
  }
  return browserSearchKey === undefined
    ? [`browserSearch ${browserSearch}: needs browserSearchKey.`]
    : [];
}

function accessProblems(settings: Settings, deployment: Deployment): string[] {
  const problems: string[] = [];
  const problem = keyProblem(settings);
  if (problem !== undefined) problems.push(problem);
  problems.push(...keyModelProblems(settings, suggest));

  if (settings.keys.length > 0 || settings.open) return problems;
  if (deployment.public && toBackends(settings).some((each) => each.engine !== "demo")) {
    problems.push(
      "keys: anyone could use the gateway without a key. Create one with `harmony-gateway key`, or set open to allow it.",
    );
  }
  if (!deployment.public && !isLoopback(settings.host)) {
    problems.push(
      `host ${settings.host}: other machines could use the gateway without a key. ` +
        "Create a key with `harmony-gateway key`, or set --open to allow it.",
    );
  }
  return problems;
}

function keyProblem({ keys }: Settings): string | undefined {
  const name = findTwice(keys.map((key) => key.name));
  if (name !== undefined) return `keys: the name ${name} is given twice.`;
  const hash = findTwice(keys.map((key) => key.sha256));
  if (hash === undefined) return undefined;
  const names = keys.flatMap((key) => (key.sha256 === hash ? [key.name] : []));
  return `keys: ${names.join(" and ")} have the same hash, so they are the same key. Create a separate key for each.`;
}

function findTwice(names: readonly string[]): string | undefined {
  return names.find((name, index) => names.indexOf(name) !== index);
}

export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || host === "[::1]" || /^127(\.\d+){3}$/.test(host);
}

/** `redis://user:password@host` with the credentials hidden. */
function hidePassword(url: string): string {
  return url.replace(/\/\/[^/]*@/, `//${HIDDEN}@`);
}

const HIDDEN = "(hidden)";

function toNumber(text: string): number | string {
  const number = Number(text.replaceAll("_", ""));
  return Number.isNaN(number) ? text : number;
}

function fromBooleanText(text: string): boolean | string {
  if (/^(true|1|yes|on)$/i.test(text)) return true;
  return /^(false|0|no|off)$/i.test(text) ? false : text;
}

/** A JSON array, or a comma-separated list. */
function fromListText(text: string): unknown {
  if (text.trim() === "") return [];
  if (!text.trimStart().startsWith("[")) return text.split(",").map((each) => each.trim());
  return fromJsonText(text);
}

function fromJsonText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Levenshtein distance, for names of a few dozen letters. */
function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const substitution = (previous[column - 1] ?? 0) + (a[row - 1] === b[column - 1] ? 0 : 1);
      const edit = Math.min(previous[column] ?? 0, current[column - 1] ?? 0) + 1;
      current.push(Math.min(substitution, edit));
    }
    previous = current;
  }
  return previous[b.length] ?? 0;
}
