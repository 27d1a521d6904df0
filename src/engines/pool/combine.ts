/** Merges the names, capabilities and probes of several engines. */
import type { Capabilities, EngineProbe } from "../engine.ts";
import type { Backend } from "./backend.ts";

export function commonName(backends: readonly Backend[]): string {
  const [first] = backends;
  if (first !== undefined && backends.length === 1) return first.engine.name;
  const names = new Set(backends.map(({ engine }) => engine.name));
  return [...names].join("+");
}

/** The capabilities that all have in common: a request is written before its backend is chosen. */
export function commonCapabilities(backends: readonly Backend[]): Capabilities {
  const [first] = backends;
  if (first !== undefined && backends.length === 1) return first.engine.capabilities;
  return backends.map(({ engine }) => engine.capabilities).reduce(inCommon);
}

/** In tokens: a conversation may go to any of the backends. */
export function shortestContext(backends: readonly Backend[]): number | undefined {
  let shortest: number | undefined;
  for (const { contextLength } of backends) {
    if (contextLength !== undefined && (shortest === undefined || contextLength < shortest)) {
      shortest = contextLength;
    }
  }
  return shortest;
}

/** Merges successful probes. Throws the first failure if all have failed. */
export function mergeProbes(
  backends: readonly Backend[],
  results: readonly PromiseSettledResult<EngineProbe>[],
): EngineProbe {
  const probes = results.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
  const failure = results.find((each) => each.status === "rejected");
  if (probes.length === 0 && failure !== undefined) throw failure.reason;
  const contextLength = shortestContext(backends);
  const warnings = [...new Set(probes.flatMap((each) => each.warnings ?? []))];
  const models = new Set(probes.flatMap((each) => each.models ?? []));
  return {
    description: [...new Set(probes.map(({ description }) => description))].join(", "),
    ...(contextLength !== undefined && { contextLength }),
    ...(models.size > 0 && { models: [...models] }),
    ...(warnings.length > 0 && { warnings }),
    capabilities: commonCapabilities(backends),
  };
}

function inCommon(a: Capabilities, b: Capabilities): Capabilities {
  return {
    idsIn: a.idsIn && b.idsIn,
    idsOut: worseIdsOut(a.idsOut, b.idsOut),
    ...(a.showsMarkers === true && b.showsMarkers === true && { showsMarkers: true }),
    stopIdVisible: a.stopIdVisible && b.stopIdVisible,
    stopIds: a.stopIds && b.stopIds,
    constraints: a.constraints.filter((each) => b.constraints.includes(each)),
    logprobs: a.logprobs && b.logprobs,
    sampling: a.sampling.filter((each) => b.sampling.includes(each)),
  };
}

type IdsOut = Capabilities["idsOut"];

/** `unmarked` only if all are: `choose-backend.ts` prefers the others. */
function worseIdsOut(a: IdsOut, b: IdsOut): IdsOut {
  if (a === "unmarked" && b === "unmarked") return "unmarked";
  return IDS_OUT.find((each) => each === a || each === b) ?? "none";
}

/** From least to most. */
const IDS_OUT: readonly IdsOut[] = ["none", "lossy", "exact"];
