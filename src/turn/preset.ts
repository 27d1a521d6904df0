/** A preset: a name that clients give as the model, and what it brings along. */
import type { Sampling } from "../engines/sampling.ts";
import type { ReasoningEffort } from "../harmony/conversation.ts";

/** The sampling parameters that a preset can have. A seed would make all its answers alike, and biases name token ids. */
type PresetParameter = Exclude<keyof Sampling, "seed" | "logitBias">;

/** Values for what a request leaves out. */
export interface PresetValues extends Readonly<
  Partial<Record<PresetParameter, number | undefined>>
> {
  readonly effort?: ReasoningEffort | "none" | undefined;
  readonly maxOutputTokens?: number | undefined;
}

export interface Preset extends PresetValues {
  readonly name: string;
  /** A name of the model that answers. */
  readonly model: string;
  /** Stands before the client's own instructions. */
  readonly instructions?: string | undefined;
  /** The values that hold whatever a request says. A locked `maxOutputTokens` is the most a request can ask for. */
  readonly lock: readonly (keyof PresetValues)[];
  readonly description: string;
  /** Works, and is not in the lists of models. */
  readonly unlisted: boolean;
}
