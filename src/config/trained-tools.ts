/** Whether the model is shown tools of its training for a request: by its key, its preset or the general setting. */
import type { Preset } from "../turn/preset.ts";
import type { Settings } from "./settings.ts";

/** `direct`: a call of a trained tool becomes one call of the client's tool. */
export type TrainedToolsMode = Settings["trainedTools"];

export type TrainedToolsOf = (tenant: string, preset: Preset | undefined) => TrainedToolsMode;

export function createTrainedToolsOf({ keys, trainedTools }: Settings): TrainedToolsOf {
  const own = new Map(keys.map((key) => [key.name, key.trainedTools]));
  return (tenant, preset) => own.get(tenant) ?? preset?.trainedTools ?? trainedTools;
}
