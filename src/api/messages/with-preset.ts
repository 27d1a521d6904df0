/** A request with the values of the preset that its model names. */
import type { Preset } from "../../turn/preset.ts";
import { presetMaxTokens, presetSampling } from "../request/apply-preset.ts";
import type { CountRequest, MessagesRequest } from "./request.ts";

type AnyRequest = CountRequest & Partial<MessagesRequest>;

export function withPreset(request: AnyRequest, preset: Preset | undefined): AnyRequest {
  if (preset === undefined) return request;
  // Without a limit, tokens are counted only.
  const maxTokens = request.max_tokens && presetMaxTokens(request.max_tokens, preset);
  return {
    ...request,
    ...presetSampling(request, preset),
    ...(maxTokens && { max_tokens: maxTokens }),
    ...presetThinking(request, preset),
  };
}

/** A budget does not say how much effort: it only limits it. */
function presetThinking(
  { thinking, output_config: config }: AnyRequest,
  { effort }: Preset,
): Partial<AnyRequest> {
  if (effort === undefined || config?.effort != null || thinking?.type === "disabled") return {};
  // This API has no effort `none`.
  if (effort === "none") return thinking == null ? { thinking: { type: "disabled" } } : {};
  return { output_config: { ...config, effort } };
}
