/** Applies a preset to a request: its values replace missing fields and, if locked, the request's own. */
import {
  NEUTRAL_PARAMETERS,
  type NeutralParameter,
  SAMPLING_FIELDS,
} from "../../engines/sampling.ts";
import type { NamedEffort } from "../../models/model-name.ts";
import type { Preset } from "../../turn/preset.ts";
import type { RequestedSampling } from "./sampling.ts";

type PresetSampling = Partial<Record<(typeof SAMPLING_FIELDS)[NeutralParameter], number>>;

/**
 * The preset's sampling parameters in the APIs' spelling. Parameters that an API lacks are included: `toSampling` reads
 * them.
 */
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

/** The most output tokens. Undefined: neither request nor preset has a limit. */
export function presetMaxTokens(
  requested: number | null | undefined,
  { maxOutputTokens, lock }: Preset,
): number | undefined {
  if (requested == null || maxOutputTokens === undefined) return requested ?? maxOutputTokens;
  return lock.includes("maxOutputTokens") ? Math.min(requested, maxOutputTokens) : requested;
}

/** The effort that prevails over the request's fields: a locked preset's, or that of the name's suffix. */
export function prevailingEffort(
  suffix: NamedEffort | undefined,
  preset: Preset | undefined,
): NamedEffort | undefined {
  return preset?.lock.includes("effort") ? preset.effort : suffix;
}

/** Joins the non-empty texts. */
export function joinTexts(texts: readonly (string | null | undefined)[]): string {
  return texts.filter((text) => text).join("\n\n");
}
