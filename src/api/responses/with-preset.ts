/** A request with the values of the preset that its model names. */
import type { Preset } from "../../turn/preset.ts";
import { presetMaxTokens, presetSampling } from "../request/apply-preset.ts";
import type { PromptRequest, ResponsesRequest } from "./request.ts";

export function withPreset(
  request: ResponsesRequest,
  preset: Preset | undefined,
): ResponsesRequest {
  if (preset === undefined) return request;
  const maxTokens = presetMaxTokens(request.max_output_tokens, preset);
  return {
    ...withPresetEffort(request, preset),
    ...presetSampling(request, preset),
    ...(maxTokens !== undefined && { max_output_tokens: maxTokens }),
  };
}

/** What a preset changes of the prompt. */
export function withPresetEffort<R extends Pick<PromptRequest, "reasoning">>(
  request: R,
  preset: Preset | undefined,
): R {
  if (preset?.effort === undefined || request.reasoning?.effort != null) return request;
  return { ...request, reasoning: { ...request.reasoning, effort: preset.effort } };
}
