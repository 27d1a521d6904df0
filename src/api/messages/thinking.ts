/** How hard the model shall think, and what the client gets to see of it. */
import type { ReasoningPolicy } from "../client.ts";
import { type ReasoningOptions, toReasoningOptions } from "../reasoning-options.ts";
import type { CountRequest } from "./request.ts";

type ThinkingRequest = Pick<CountRequest, "thinking" | "output_config">;

/**
 * What becomes of a thought in the answer. Every block carries the thought sealed as its signature.
 * - `text`: readable
 * - `signature`: empty
 * - `before-output`: empty, and only around calls or before a preamble. The client has not asked for thinking; programs that do
 *   not know it read `content[0].text`, and of a finished answer the thought is never needed again.
 * - `none`: there is no block.
 */
export type ShownThinking = "text" | "signature" | "before-output" | "none";

/** A budget is kept besides the effort. Without an effort the budget decides it. */
export function requestedReasoning({ thinking, output_config }: ThinkingRequest): ReasoningOptions {
  if (thinking?.type === "disabled") return toReasoningOptions({ enabled: false }, {});
  const effort = output_config?.effort;
  const budget = thinking?.type === "enabled" ? thinking.budget_tokens : undefined;
  if (budget == null) return toReasoningOptions({ effort }, {});
  const byBudget = toReasoningOptions({ max_tokens: budget }, {});
  return effort == null
    ? byBudget
    : { ...byBudget, effort: toReasoningOptions({ effort }, {}).effort };
}

export function toShownThinking(
  { thinking }: ThinkingRequest,
  policy: ReasoningPolicy,
): ShownThinking {
  if (POLICIES[policy] === "none" || thinking?.type === "disabled") return "none";
  if (thinking == null) return "before-output";
  return thinking.display === "omitted" ? "signature" : POLICIES[policy];
}

/** Where thinking was asked for. */
const POLICIES: Readonly<Record<ReasoningPolicy, "text" | "signature" | "none">> = {
  raw: "text",
  sealed: "signature",
  none: "none",
};
