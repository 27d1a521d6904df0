/** The tools of the gateway that a preset brings along, as if each request declared them. */
import { TRAINED_TOOLS, type TrainedTool } from "../../harmony/trained-tools.ts";
import type { Preset } from "../../turn/preset.ts";
import type { Declaration } from "./hosted-tools.ts";

const KINDS: Readonly<Record<TrainedTool, string>> = {
  browser: "web_search",
  python: "code_interpreter",
};

/**
 * Those that the request declares itself come first and keep its options.
 *
 * @param byClient tools of training that the client runs itself.
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
