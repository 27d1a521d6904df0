/** Adds the gateway tools of a preset to the tools that a request declares. */
import { TRAINED_TOOLS, type TrainedTool } from "../../harmony/trained-tools.ts";
import type { Preset } from "../../turn/preset.ts";
import type { Declaration } from "./hosted-tools.ts";

const KINDS: Readonly<Record<TrainedTool, string>> = {
  browser: "web_search",
  python: "code_interpreter",
};

/**
 * Adds declarations. The request's own declarations come first and keep their options.
 *
 * @param byClient trained tools that the client runs itself.
 */
export function withPresetTools(
  declared: readonly Declaration[],
  preset: Preset | undefined,
  byClient: readonly TrainedTool[] = [],
): readonly Declaration[] {
  const own = new Set(preset?.builtinTools);
  const added = TRAINED_TOOLS.filter((name) => own.has(name) && !byClient.includes(name));
  return [...declared, ...added.map((name) => ({ kind: KINDS[name], fields: {}, param: "model" }))];
}
