/** A request with the values of the preset that its model names. */
import type { Preset } from "../../turn/preset.ts";
import { presetMaxTokens, presetSampling } from "../request/apply-preset.ts";
import type { ChatRequest } from "./request.ts";

export function withPreset(request: ChatRequest, preset: Preset | undefined): ChatRequest {
  if (preset === undefined) return request;
  const { reasoning, reasoning_effort: shorthand } = request;
  const maxTokens = presetMaxTokens(request.max_completion_tokens ?? request.max_tokens, preset);
  const asksForEffort =
    (shorthand ?? reasoning?.effort ?? reasoning?.max_tokens ?? reasoning?.enabled) != null;
  return {
    ...request,
    ...presetSampling(request, preset),
    ...(maxTokens !== undefined && { max_completion_tokens: maxTokens }),
    ...(preset.effort !== undefined && !asksForEffort && { reasoning_effort: preset.effort }),
  };
}
