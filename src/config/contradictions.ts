/** Problems between settings that are each valid. */
import { ENGINES } from "../engines/create-engine.ts";
import { backendEntry } from "./backend-entry.ts";
import { toBackends } from "./backends.ts";
import { isLoopback } from "./loopback.ts";
import { portProblems } from "./port-sharing.ts";
import { namedModelProblems, presetProblems } from "./preset-problems.ts";
import type { Deployment, SettingInput } from "./setting-input.ts";
import type { SettingName, Settings } from "./settings.ts";

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
