/** Several engines as one: what all can do, and what any has said of itself. */
import type { Capabilities, EngineProbe } from "../engine.ts";
import type { Backend } from "./backend.ts";

export function commonName(backends: readonly Backend[]): string {
  const names = new Set(backends.map(({ engine }) => engine.name));
  return [...names].join("+");
}

/** What holds for all: a request is written before it is known who gets it. */
export function commonCapabilities(backends: readonly Backend[]): Capabilities {
  return backends.map(({ engine }) => engine.capabilities).reduce(inCommon);
}

/** A conversation may go to any of them. */
export function shortestContext(backends: readonly Backend[]): number | undefined {
  const lengths = backends.flatMap(({ contextLength }) => contextLength ?? []);
  return lengths.length > 0 ? Math.min(...lengths) : undefined;
}

/** One working backend is enough; a failure counts when all have one. */
export function mergeProbes(
  backends: readonly Backend[],
  results: readonly PromiseSettledResult<EngineProbe>[],
): EngineProbe {
  const probes = results.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
  const failure = results.find((each) => each.status === "rejected");
  if (probes.length === 0 && failure !== undefined) throw failure.reason;
  const contextLength = shortestContext(backends);
  const models = new Set(probes.flatMap((each) => each.models ?? []));
  return {
    description: [...new Set(probes.map(({ description }) => description))].join(", "),
    ...(contextLength !== undefined && { contextLength }),
    ...(models.size > 0 && { models: [...models] }),
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

/** Hidden markers are in common only where all hide them: others are preferred (see `choose-backend.ts`). */
function worseIdsOut(a: IdsOut, b: IdsOut): IdsOut {
  if (a === "unmarked" && b === "unmarked") return "unmarked";
  return IDS_OUT.find((each) => each === a || each === b) ?? "none";
}

/** From least to most. */
const IDS_OUT: readonly IdsOut[] = ["none", "lossy", "exact"];
