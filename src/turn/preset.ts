/** A preset: a name that clients give as the model, and what it brings along. */
import type { NeutralParameter } from "../engines/sampling.ts";
import type { TrainedTool } from "../harmony/trained-tools.ts";
import type { ReasoningEffort } from "../harmony/conversation.ts";

/** Values for what a request leaves out. A seed would make all answers of a preset alike, and biases name token ids. */
export interface PresetValues extends Readonly<
  Partial<Record<NeutralParameter, number | undefined>>
> {
  readonly effort?: ReasoningEffort | "none" | undefined;
  readonly maxOutputTokens?: number | undefined;
}

/** The settings that decide what the prompt of a request is, beside the request. */
export interface PromptRules {
  /** Whether functions with names of tools that the model knows are shown under others. */
  readonly nameShield: "off" | "on";
  /** `direct`: the model is shown tools of its training, and a call of one becomes one call of the client's tool. */
  readonly trainedTools: "off" | "direct";
}

export interface Preset
  extends
    PresetValues,
    Readonly<Partial<{ [N in keyof PromptRules]: PromptRules[N] | undefined }>> {
  readonly name: string;
  /** A name of the model that answers. */
  readonly model: string;
  /** Stands before the client's own instructions. */
  readonly instructions?: string | undefined;
  /** The values that hold whatever a request says. A locked `maxOutputTokens` is the most a request can ask for. */
  readonly lock: readonly (keyof PresetValues)[];
  /** Tools that the gateway runs for the model in each request. */
  readonly builtinTools?: readonly TrainedTool[] | undefined;
  readonly description: string;
  /** Works, and is not in the lists of models. */
  readonly unlisted: boolean;
}
