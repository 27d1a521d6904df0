/** A preset: a model name for clients, with default values. */
import type { NeutralParameter } from "../engines/sampling.ts";
import type { TrainedTool } from "../harmony/trained-tools.ts";
import type { ReasoningEffort } from "../harmony/conversation.ts";

/**
 * Values for fields that a request leaves out. There is no seed, which would make all answers of a preset equal, and no
 * logit bias, which names token ids.
 */
export interface PresetValues extends Readonly<
  Partial<Record<NeutralParameter, number | undefined>>
> {
  readonly effort?: ReasoningEffort | "none" | undefined;
  readonly maxOutputTokens?: number | undefined;
}

/** The settings that affect the prompt of a request. */
export interface PromptRules {
  /** Whether functions with names of trained tools are shown under other names. */
  readonly nameShield: "off" | "on";
  /** `direct`: the prompt shows trained tools, and a call of one becomes one call of the client's tool. */
  readonly trainedTools: "off" | "direct";
}

export interface Preset
  extends
    PresetValues,
    Readonly<Partial<{ [N in keyof PromptRules]: PromptRules[N] | undefined }>> {
  readonly name: string;
  /** A name of the model that answers. */
  readonly model: string;
  /** Instructions before the client's own. */
  readonly instructions?: string | undefined;
  /** The values that override a request's. A locked `maxOutputTokens` is an upper limit. */
  readonly lock: readonly (keyof PresetValues)[];
  /** Tools that the gateway runs for the model in each request. */
  readonly builtinTools?: readonly TrainedTool[] | undefined;
  readonly description: string;
  /** Whether the preset is left out of the lists of models. */
  readonly unlisted: boolean;
}
