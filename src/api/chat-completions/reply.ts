/** Options, reasoning entries and mapped values of streamed and plain chat replies. */
import { isAnswerEmpty } from "../reply/empty-answer.ts";
import type { PrefillNote } from "../reply/prefill-note.ts";
import { REASONING_SEPARATOR } from "../../store/call-reasoning.ts";
import type { FinishReason, TurnEnd, TurnUsage } from "../../turn/turn.ts";
import type { ErrorCodes } from "../error-codes.ts";
import type { ChatRequest } from "./request.ts";

/** A constant: some clients require a string, and no engine reports one for raw completions. */
export const SYSTEM_FINGERPRINT = "fp_harmony_gateway";

/** Options of a reply, known before the first token from the request and the client's key. */
export interface ReplyOptions {
  /** `gen-…`, the same in every chunk and in the `X-Generation-Id` header. */
  readonly id: string;
  /** Seconds since 1970, the same in every chunk. */
  readonly created: number;
  /** The model's name in the request. */
  readonly model: string;
  /** The engine's name, as OpenRouter's `provider`: some clients require a string. */
  readonly provider: string;
  readonly reasoning: ShownReasoning;
  /** Whether reasoning is repeated as `reasoning_content`, for clients that read nothing else. */
  readonly mirrorReasoning: boolean;
  /**
   * Whether the reasoning's text is repeated in `reasoning_details`, which always has encrypted reasoning and
   * summaries.
   */
  readonly detailsText: boolean;
  /** The request uses the legacy `functions`, so the reply uses `function_call`. */
  readonly legacyFunctions: boolean;
  /** Tools whose one string argument is unwrapped into `custom.input`. */
  readonly customTools: ReadonlySet<string>;
  /** The tool whose input is code as the model writes it, for the client to run. */
  readonly codeTool?: string | undefined;
  /** The client requested OpenAI's usage chunk, which has no choices. */
  readonly usageWithoutChoices: boolean;
  readonly logprobs: boolean;
  /** Progress of the prompt, noted for a stream. Absent: the reply is not streamed. */
  readonly prefill?: PrefillNote;
  /** The client requested chunks with the progress of the prompt. */
  readonly returnsProgress?: boolean;
  readonly errorCodes: ErrorCodes;
}

/** The form of reasoning for the client: as text, encrypted to send back, as a summary alone, or not at all. */
export type ShownReasoning = "text" | "sealed" | "summary" | "hidden";

/** Separator of two analysis messages, and of a preamble and the answer. */
export const PART_SEPARATOR = REASONING_SEPARATOR;

/** An entry of `reasoning_details`. Clients drop entries without `format`: they assume Anthropic's. */
export function toSealedDetail(data: string, number: number, { reasoning }: ReplyOptions) {
  // Indexes must be unique, and the number of summaries is not known in advance.
  const index = reasoning === "sealed" ? number : SEALED_INDEX + number;
  return { type: "reasoning.encrypted" as const, data, format: "unknown" as const, index };
}

const SEALED_INDEX = 1000;

/**
 * Prefix of the id of each summary made by the gateway. When a client sends such a summary back, it must not replace
 * the reasoning.
 */
export const SUMMARY_ID_PREFIX = "harmony_summary_";

export function toSummaryDetail(summary: string, number: number, { reasoning }: ReplyOptions) {
  return {
    type: "reasoning.summary" as const,
    summary,
    id: `${SUMMARY_ID_PREFIX}${number}`,
    format: "unknown" as const,
    // All reasoning text has the index 0.
    index: reasoning === "text" ? number + 1 : number,
  };
}

export type ChatFinishReason = "stop" | "length" | "tool_calls" | "function_call" | "error";

export function mapFinishReason(finish: FinishReason, options: ReplyOptions): ChatFinishReason {
  if (finish !== "tool-calls") return finish;
  return options.legacyFunctions ? "function_call" : "tool_calls";
}

/** The engine's own finish reason, unless the turn has no answer: the engine's `stop` would hide that. */
export function toNativeReason(end: TurnEnd): string | null {
  return isAnswerEmpty(end) ? "empty_answer" : end.nativeReason;
}

/**
 * Reasoning is part of `completion_tokens`. Clients of OpenRouter read `cost` and `is_byok`. `cost` must be a number: null breaks
 * OpenRouter's AI SDK provider.
 */
export function toUsage(usage: TurnUsage, { errorCodes }: Pick<ReplyOptions, "errorCodes">) {
  return {
    prompt_tokens: usage.promptTokens,
    completion_tokens: usage.completionTokens,
    total_tokens: usage.promptTokens + usage.completionTokens,
    ...(errorCodes === "integers" && { cost: 0, is_byok: false }),
    prompt_tokens_details: { cached_tokens: usage.cachedTokens },
    completion_tokens_details: { reasoning_tokens: usage.reasoningTokens },
    ...(usage.gatewayTools && {
      server_tool_use_details: {
        web_search_requests: usage.gatewayTools.searches,
        tool_calls_requested: usage.gatewayTools.requested,
        tool_calls_executed: usage.gatewayTools.executed,
      },
    }),
  };
}

/** The sum of the usages of all choices. The prompt is counted once, as OpenAI does. */
export function addUsage(usages: readonly TurnUsage[]): TurnUsage {
  const sum = (pick: (usage: TurnUsage) => number) =>
    usages.reduce((total, usage) => total + pick(usage), 0);
  return {
    promptTokens: usages[0]?.promptTokens ?? 0,
    cachedTokens: usages[0]?.cachedTokens ?? 0,
    completionTokens: sum((usage) => usage.completionTokens),
    reasoningTokens: sum((usage) => usage.reasoningTokens),
    engineCalls: sum((usage) => usage.engineCalls),
    ...(usages.some(({ gatewayTools }) => gatewayTools) && {
      gatewayTools: {
        requested: sum(({ gatewayTools }) => gatewayTools?.requested ?? 0),
        executed: sum(({ gatewayTools }) => gatewayTools?.executed ?? 0),
        searches: sum(({ gatewayTools }) => gatewayTools?.searches ?? 0),
        opens: sum(({ gatewayTools }) => gatewayTools?.opens ?? 0),
        outputTokens: sum(({ gatewayTools }) => gatewayTools?.outputTokens ?? 0),
      },
    }),
  };
}

export function customToolNames(request: ChatRequest): ReadonlySet<string> {
  return new Set(
    (request.tools ?? []).flatMap((tool) => (tool.type === "custom" ? [tool.custom.name] : [])),
  );
}
