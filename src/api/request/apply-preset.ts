/** The values of a preset in a request: for what the request leaves out, and, where they are locked, for what it says. */
import {
  NEUTRAL_PARAMETERS,
  type NeutralParameter,
  SAMPLING_FIELDS,
} from "../../engines/sampling.ts";
import type { NamedEffort } from "../../models/model-name.ts";
import type { Preset } from "../../turn/preset.ts";
import type { RequestedSampling } from "./sampling.ts";

type PresetSampling = Partial<Record<(typeof SAMPLING_FIELDS)[NeutralParameter], number>>;

/** In the APIs' spelling. An API that lacks a parameter gets it all the same: `toSampling` reads it. */
export function presetSampling(request: RequestedSampling, preset: Preset): PresetSampling;
export function presetSampling(request: RequestedSampling, preset: Preset): object {
  const given = new Map<string, unknown>(Object.entries(request));
  return Object.fromEntries(
    NEUTRAL_PARAMETERS.flatMap((name) => {
      const value = preset[name];
      const field = SAMPLING_FIELDS[name];
      const isGiven = given.get(field) != null && !preset.lock.includes(name);
      return value === undefined || isGiven ? [] : [[field, value]];
    }),
  );
}

/** The most output tokens. Undefined: neither has a limit. */
export function presetMaxTokens(
  requested: number | null | undefined,
  { maxOutputTokens, lock }: Preset,
): number | undefined {
  if (requested == null || maxOutputTokens === undefined) return requested ?? maxOutputTokens;
  return lock.includes("maxOutputTokens") ? Math.min(requested, maxOutputTokens) : requested;
}

/** The effort that prevails over the request's fields: a locked one, or that in the name's suffix. */
export function prevailingEffort(
  suffix: NamedEffort | undefined,
  preset: Preset | undefined,
): NamedEffort | undefined {
  return preset?.lock.includes("effort") ? preset.effort : suffix;
}

/** One text of those that are not empty. */
export function joinTexts(texts: readonly (string | null | undefined)[]): string {
  return texts.filter((text) => text).join("\n\n");
}
