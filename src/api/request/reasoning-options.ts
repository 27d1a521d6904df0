/**
 * Reads reasoning effort and budget from the fields that clients use.
 *
 * Harmony has low, medium and high. Other levels map to the nearest one, as at OpenRouter. The model has no level for
 * `none` (and `enabled: false`): the gateway then opens the answer without reasoning.
 */
import * as z from "zod";
import type { ReasoningEffort } from "../../harmony/conversation.ts";
import { lazy } from "../../lazy.ts";
import type { NamedEffort } from "../../models/model-name.ts";
import { refusal, type RequestError } from "../errors.ts";

/** New levels have only been added at the ends of the scale. An unknown level counts as more than `high`. */
export const anyEffort = lazy(() =>
  z.union([z.enum(["none", "minimal", "low", "medium", "high", "xhigh", "max"]), z.string()]),
);

/** The detail of a summary. Unknown levels of later API versions become `auto`. */
export const summaryDetail = lazy(() =>
  z.union([z.enum(["auto", "concise", "detailed"]), z.string().transform(() => "auto" as const)]),
);

export interface RequestedReasoning {
  readonly effort?: string | null | undefined;
  readonly max_tokens?: number | null | undefined;
  readonly exclude?: boolean | null | undefined;
  readonly enabled?: boolean | null | undefined;
}

export interface ReasoningOptions {
  /** The effort in the system message. */
  readonly effort: ReasoningEffort;
  /** False: the model answers without reasoning. */
  readonly enabled: boolean;
  /** Most tokens of reasoning. */
  readonly maxTokens?: number;
  /** True: the model reasons, but the client does not see it. */
  readonly exclude: boolean;
}

function nearest(effort: string): ReasoningEffort {
  if (effort === "none" || effort === "minimal" || effort === "low") return "low";
  return effort === "medium" ? "medium" : "high";
}

interface OtherReasoningFields {
  /** `reasoning_effort`. */
  readonly effort?: string | null | undefined;
  /** `include_reasoning`. */
  readonly include?: boolean | null | undefined;
  /**
   * The effort in the model's name. It prevails, because a person has chosen it, while fields are often a client's
   * default.
   */
  readonly named?: NamedEffort | undefined;
}

/** Combines all fields. Contradictions are answered with 400. */
export function toReasoningOptions(
  reasoning: RequestedReasoning,
  shorthand: OtherReasoningFields,
): ReasoningOptions {
  const budget = reasoning.max_tokens ?? undefined;
  const exclude = reasoning.exclude ?? shorthand.include === false;
  const { named } = shorthand;
  if (named !== undefined) {
    return {
      effort: nearest(named),
      enabled: named !== "none" && budget !== 0,
      exclude,
      ...(budget !== undefined && { maxTokens: budget }),
    };
  }
  if (reasoning.effort && shorthand.effort && reasoning.effort !== shorthand.effort) {
    throw conflict("reasoning.effort and reasoning_effort differ", "reasoning_effort");
  }
  const asked = reasoning.effort ?? shorthand.effort ?? undefined;
  if (asked !== undefined && budget !== undefined) {
    throw conflict(
      "reasoning takes an effort or max_tokens, not both",
      reasoning.effort ? "reasoning.max_tokens" : "reasoning_effort",
    );
  }
  if (reasoning.enabled === true && asked === "none") {
    throw conflict('reasoning.enabled is true but the effort is "none"', "reasoning.enabled");
  }
  if (reasoning.enabled === false && (budget || (asked !== undefined && asked !== "none"))) {
    throw conflict(
      "reasoning.enabled is false but an effort or budget is given",
      "reasoning.enabled",
    );
  }

  const enabled = reasoning.enabled !== false && asked !== "none" && budget !== 0;
  return {
    effort: enabled ? (asked ? nearest(asked) : effortForBudget(budget)) : "low",
    enabled,
    exclude,
    ...(budget !== undefined && { maxTokens: budget }),
  };
}

/** The effort that replies report. */
export function usedEffort({ effort, enabled }: ReasoningOptions): NamedEffort {
  return enabled ? effort : "none";
}

/** The budget itself is enforced elsewhere; the effort makes the model aim for it. The thresholds are our choice. */
function effortForBudget(budget: number | undefined): ReasoningEffort {
  if (budget === undefined) return "medium";
  if (budget <= 1024) return "low";
  return budget <= 8192 ? "medium" : "high";
}

function conflict(message: string, param: string): RequestError {
  return refusal(param, message);
}
