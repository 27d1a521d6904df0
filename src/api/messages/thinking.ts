/** Maps the request's thinking options to reasoning effort, budget and visibility. */
import type { NamedEffort } from "../../models/model-name.ts";
import type { ReasoningPolicy } from "../request/client.ts";
import { type ReasoningOptions, toReasoningOptions } from "../request/reasoning-options.ts";
import type { CountRequest } from "./request.ts";

type ThinkingRequest = Pick<CountRequest, "thinking" | "output_config" | "messages">;

/**
 * The form of thinking in the answer. Every block carries the encrypted thinking as its signature.
 * - `text`: readable
 * - `signature`: empty
 * - `before-output`: empty, and only in tool loops or before a preamble. The client has not requested
 *   thinking: programs that do not expect it read `content[0].text`, and thinking before a final answer is
 *   never needed again.
 * - `none`: no block
 */
export type ShownThinking = "text" | "signature" | "before-output" | "none";

/**
 * The budget applies in addition to the effort. Without an effort, the budget determines it.
 *
 * @param named the effort in the model's name.
 */
export function requestedReasoning(
  { thinking, output_config, messages }: ThinkingRequest,
  named?: NamedEffort,
): ReasoningOptions {
  const effort = laterEffort(messages) ?? output_config?.effort;
  const budget = thinking?.type === "enabled" ? thinking.budget_tokens : undefined;
  if (named !== undefined) return toReasoningOptions({ max_tokens: budget }, { named });
  if (thinking?.type === "disabled") return toReasoningOptions({ enabled: false }, {});
  if (budget == null) return toReasoningOptions({ effort }, {});
  const byBudget = toReasoningOptions({ max_tokens: budget }, {});
  return effort == null
    ? byBudget
    : { ...byBudget, effort: toReasoningOptions({ effort }, {}).effort };
}

/** The effort of the last `system` message that sets one. */
function laterEffort(messages: CountRequest["messages"]): string | undefined {
  const last = messages.findLast(
    ({ role, output_config: config }) => role === "system" && config?.effort != null,
  );
  return last?.output_config?.effort ?? undefined;
}

export function toShownThinking(
  { thinking }: Pick<CountRequest, "thinking">,
  policy: ReasoningPolicy,
): ShownThinking {
  if (POLICIES[policy] === "none" || thinking?.type === "disabled") return "none";
  if (thinking == null) return "before-output";
  return thinking.display === "omitted" ? "signature" : POLICIES[policy];
}

/** Form of thinking by policy, if the request enables thinking. */
const POLICIES: Readonly<Record<ReasoningPolicy, "text" | "signature" | "none">> = {
  raw: "text",
  sealed: "signature",
  // This API has no summaries of thinking.
  summary: "none",
  none: "none",
};
