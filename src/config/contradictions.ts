/** Contradictions between settings that are valid separately. */
import { ENGINES } from "../engines/create-engine.ts";
import { servedNames, spellings, toBackends } from "./backends.ts";
import { backendEntry } from "./settings/engine.ts";
import { isLoopback } from "./loopback.ts";
import type { Deployment, SettingInput } from "./setting-input.ts";
import type { SettingName, Settings } from "./settings.ts";
import { toPresets } from "./presets.ts";
import { suggest } from "./suggest.ts";

export function contradictions(
  settings: Settings,
  given: ReadonlyMap<SettingName, SettingInput>,
  deployment: Deployment,
): string[] {
  return [
    ...backendProblems(settings, given, deployment),
    ...presetProblems(settings),
    ...sealingProblems(settings),
    ...summaryProblems(settings),
    ...browserProblems(settings),
    ...pythonProblems(settings),
    ...visionProblems(settings),
    ...accessProblems(settings, deployment),
    ...portProblems(settings),
  ];
}

function backendProblems(
  settings: Settings,
  given: ReadonlyMap<SettingName, SettingInput>,
  { isDry = false }: Deployment,
): string[] {
  const problems: string[] = [];
  if (settings.backends.length > 0) {
    const sources = new Map<string, string>([...given].map(([name, { source }]) => [name, source]));
    for (const name of Object.keys(backendEntry().shape)) {
      const source = sources.get(name);
      if (source !== undefined) {
        problems.push(
          `${source}: has no effect together with backends. Set it in the entries of that list.`,
        );
      }
    }
  }
  for (const backend of toBackends(settings)) {
    const { engine, model, url } = backend;
    if (url !== undefined && engine !== "auto" && ENGINES[engine].url === "none") {
      const source = given.get("url")?.source;
      problems.push(
        `${source === undefined ? "backends: url" : `${source}:`} has no effect with engine ${engine}. ` +
          "Leave out engine, or name the server's kind.",
      );
    }
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

function visionProblems({ visionUrl, visionModel, visionKey, mediaHosts }: Settings): string[] {
  if (visionUrl !== undefined) {
    return visionModel === undefined
      ? ["visionUrl: needs visionModel, the name of the model there."]
      : [];
  }
  const names = [
    ...(visionModel === undefined ? [] : ["visionModel"]),
    ...(visionKey === undefined ? [] : ["visionKey"]),
    ...(mediaHosts.length === 0 ? [] : ["mediaHosts"]),
  ];
  return names.map((name) => `${name}: has no effect without visionUrl.`);
}

function accessProblems(settings: Settings, deployment: Deployment): string[] {
  const problems: string[] = [];
  const problem = keyProblem(settings);
  if (problem !== undefined) problems.push(problem);
  problems.push(...namedModelProblems(settings));

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

/** Problems that prevent the start. */
function portProblems(settings: Settings): string[] {
  const { metricsPort, port, reusePort } = settings;
  const problems: string[] = [];
  if (metricsPort !== undefined && metricsPort === port && port !== 0) {
    problems.push(`metricsPort ${metricsPort}: is the same as port. Choose another one.`);
  }
  if (!reusePort) return problems;
  if (port === 0) {
    problems.push(
      "reusePort: with port 0 each process would listen on a port of its own. Choose a port.",
    );
  }
  if (settings.store === "memory" && !isSealed(settings)) {
    problems.push(
      "reusePort: with the store memory, a process does not find what another one has stored. Share a store, for instance " +
        "--store sqlite:state.db, or set reasoningPolicy to sealed and have clients send store: false.",
    );
  }
  return problems;
}

/** Warnings that do not prevent the start. */
export function portWarnings(settings: Settings): string[] {
  if (!settings.reusePort || settings.store !== "memory") return [];
  return [
    "reusePort: stored responses, conversations and background responses are found only by the process that made them. " +
      "Clients must send store: false. A shared store, for instance --store sqlite:state.db, removes this limit.",
  ];
}

/** Whether all clients carry encrypted reasoning, so that no process has to store it. */
function isSealed({ keys, reasoningPolicy }: Settings): boolean {
  return [reasoningPolicy, ...keys.map((key) => key.reasoningPolicy)].every(
    (policy) => policy === undefined || policy === "sealed",
  );
}

/** Problems of presets with the served models. */
function presetProblems(settings: Settings): string[] {
  const served = servedNames(settings);
  const taken = new Set(served.keys());
  // The models of a server are known after its first answer.
  const isComplete = toBackends(settings).every(({ findsModel }) => !findsModel);
  return toPresets(settings).flatMap(({ name, model, lock, ...given }) => {
    const where = `presets.${name}`;
    const problems: string[] = [];
    if (spellings(name).some((spelling) => taken.has(spelling))) {
      problems.push(`${where}: a model or another preset has this name already.`);
    }
    for (const spelling of spellings(name)) taken.add(spelling);
    if (!served.has(model) && (isComplete || Object.hasOwn(settings.presets, model))) {
      problems.push(
        Object.hasOwn(settings.presets, model)
          ? `${where}.model: ${model} is a preset. Name the model that answers.`
          : `${where}.model: ${model} is not served.${suggest(model, [...served.keys()])}`,
      );
    }
    for (const tool of given.builtinTools ?? []) {
      if (settings.builtinTools.includes(tool)) continue;
      problems.push(
        `${where}.builtinTools: ${tool} is not among builtinTools. Add it there as well.`,
      );
    }
    for (const field of lock) {
      if (given[field] !== undefined) continue;
      problems.push(`${where}.lock: ${field} has no value to be locked. Set ${where}.${field}.`);
    }
    return problems;
  });
}

/** Problems of model names in keys and in aliases for Claude's names. */
function namedModelProblems(settings: Settings): string[] {
  if (toBackends(settings).some(({ findsModel }) => findsModel)) return [];
  const presets = Object.keys(settings.presets);
  const known = new Set([...servedNames(settings).keys(), ...presets.flatMap(spellings)]);
  const unknown = (model: string) =>
    `${model}, which is neither a model nor a preset.${suggest(model, [...known])}`;
  return [
    ...settings.keys.flatMap(({ name, models = [] }) =>
      models
        .filter((model) => !known.has(model))
        .map((model) => `keys: ${name} may use ${unknown(model)}`),
    ),
    ...settings.claudeAliases
      .map((alias) => alias.slice(alias.indexOf("=") + 1))
      .filter((model) => !isNamed(known, model))
      .map((model) => `claudeAliases: a name stands for ${unknown(model)}`),
  ];
}

/** Whether a model is known, also with a suffix or preset such as `gpt-oss-20b:high`, which is not checked here. */
function isNamed(known: ReadonlySet<string>, model: string): boolean {
  const name = model.replace(/^@preset\//, "");
  if (known.has(name)) return true;
  return [...known].some((each) => /^[:@-]/.test(name.slice(each.length)) && name.startsWith(each));
}
