/** Ids, options and mapped values of plain and streamed messages. */
import type * as z from "zod";
import type { ShownCall } from "../../tools/gateway-tool.ts";
import type { TurnEnd, TurnUsage } from "../../turn/turn.ts";
import type { AutoCompaction } from "../reply/auto-compaction.ts";
import type { CacheDiagnosis } from "../turn/cache-diagnosis.ts";
import type { AppliedEdits } from "./context-management.ts";
import type { cacheMissReason } from "./reply-schema.ts";
import type { ToolSearchName } from "./server-tool-blocks.ts";
import type { ShownThinking } from "./thinking.ts";

export interface ReplyOptions {
  /** `msg_…` */
  readonly id: string;
  /** The model's name in the request. */
  readonly model: string;
  readonly thinking: ShownThinking;
  /** Repeated in an error. */
  readonly requestId: string;
  /** The earliest time at which the interpreter of this message is discarded, in RFC 3339. */
  readonly containerExpiresAt: string;
  /** Edits of the prompt. Undefined: the request has no `context_management`. */
  readonly contextManagement?: AppliedEdits | undefined;
  /** The reply is a summary of the conversation. */
  readonly isSummary?: boolean;
  /** The compaction at the beginning of the reply. Undefined: the conversation is not compacted. */
  readonly compaction?: Pick<AutoCompaction, "made" | "hasPaused"> | undefined;
  /** The name of the tool search in the request. Absent: the request has none. */
  readonly toolSearch?: ToolSearchName | undefined;
  /** Absent: the request names no message to compare with. */
  readonly diagnose?: (() => CacheDiagnosis) | undefined;
  /** The client requested pings with the progress of the prompt. */
  readonly returnsProgress?: boolean;
}

export type StopReason = "end_turn" | "max_tokens" | "stop_sequence" | "tool_use" | "compaction";

/** Maps the end of a turn that has not failed. */
export function toStop(
  { finish, stopSequence }: TurnEnd,
  { isSummary, compaction }: Pick<ReplyOptions, "isSummary" | "compaction">,
): {
  readonly stop_reason: StopReason;
  readonly stop_sequence: string | null;
  /** Null: it describes refusals, which do not occur. */
  readonly stop_details: null;
} {
  const none = { stop_sequence: null, stop_details: null };
  if (isSummary || compaction?.hasPaused) return { stop_reason: "compaction", ...none };
  if (finish === "tool-calls") return { stop_reason: "tool_use", ...none };
  if (finish === "length") return { stop_reason: "max_tokens", ...none };
  if (stopSequence === undefined) return { stop_reason: "end_turn", ...none };
  return { stop_reason: "stop_sequence", stop_sequence: stopSequence, stop_details: null };
}

/** The interpreter that ran code. A later request with its id as `container` continues with its variables. */
export function toContainer(
  shown: ShownCall | undefined,
  { containerExpiresAt }: ReplyOptions,
): { id: string; expires_at: string; skills: null } | null {
  if (shown?.type !== "code" || shown.containerId === "") return null;
  return { id: shown.containerId, expires_at: containerExpiresAt, skills: null };
}

/** Members of a message's usage that have no value here. Strict clients require them. */
const UNKNOWN_USAGE = {
  cache_creation: null,
  inference_geo: null,
  service_tier: null,
  speed: null,
};

/**
 * Usage at the start of a stream. All counts but the input must be 0: LangChain adds the counts of the start and the
 * end.
 */
export function toFirstUsage(inputTokens: number) {
  return {
    input_tokens: inputTokens,
    cache_read_input_tokens: 0,
    cache_creation_input_tokens: 0,
    output_tokens: 0,
    output_tokens_details: null,
    server_tool_use: null,
    ...UNKNOWN_USAGE,
  };
}

/** The caller of `tool_use` blocks: the model itself, not code that it wrote. */
export const CALLER = { type: "direct" } as const;

/**
 * The usage of the parts of a reply whose conversation was compacted. The reply's own counts exclude the summary:
 * clients derive the length of their conversation from them.
 */
export function toIterations(
  { usage }: TurnEnd,
  { model, compaction }: Pick<ReplyOptions, "model" | "compaction">,
) {
  if (compaction?.made === undefined) return {};
  const summary = { type: "compaction", ...toIterationUsage(compaction.made.usage) } as const;
  const message = { type: "message", model, ...toIterationUsage(usage) } as const;
  return { iterations: compaction.hasPaused ? [summary] : [summary, message] };
}

function toIterationUsage(usage: TurnUsage) {
  const { input_tokens, cache_read_input_tokens, cache_creation_input_tokens, output_tokens } =
    toUsage(usage);
  return {
    input_tokens,
    cache_read_input_tokens,
    cache_creation_input_tokens,
    cache_creation: null,
    output_tokens,
  };
}

/** The usage of a whole message. */
export function toMessageUsage(usage: TurnUsage) {
  return { ...toUsage(usage), ...UNKNOWN_USAGE };
}

/** Maps usage. Clients add the three input counts. Output tokens include thinking. */
export function toUsage(usage: TurnUsage) {
  return {
    input_tokens: usage.promptTokens - usage.cachedTokens,
    cache_read_input_tokens: usage.cachedTokens,
    cache_creation_input_tokens: 0,
    output_tokens: usage.completionTokens,
    output_tokens_details: { thinking_tokens: usage.reasoningTokens },
    server_tool_use: usage.gatewayTools
      ? {
          web_search_requests: usage.gatewayTools.searches,
          web_fetch_requests: usage.gatewayTools.opens,
        }
      : null,
  };
}

/** The vendor's reasons by part of the prompt. Other parts count as parameters that the vendor does not compare. */
const CACHE_MISS_REASONS = {
  model: "model_changed",
  tools: "tools_changed",
  system: "system_changed",
  instructions: "system_changed",
  summary: "messages_changed",
  messages: "messages_changed",
  effort: undefined,
  format: undefined,
} as const;

/** Called when the prompt has been rendered. Null: the prompts do not differ, or no comparison was requested. */
export function toDiagnostics({ diagnose }: Pick<ReplyOptions, "diagnose">): {
  readonly cache_miss_reason: z.input<ReturnType<typeof cacheMissReason>>;
} | null {
  const diagnosis = diagnose?.();
  switch (diagnosis?.type) {
    case undefined:
    case "continued":
      return null;
    case "not-found":
      return { cache_miss_reason: { type: "previous_message_not_found" } };
    case "unavailable":
      return { cache_miss_reason: { type: "unavailable" } };
    case "changed": {
      const { what, missedTokens } = diagnosis;
      const type = CACHE_MISS_REASONS[what];
      if (type === undefined) return { cache_miss_reason: { type: "unavailable" } };
      return { cache_miss_reason: { type, cache_missed_input_tokens: missedTokens } };
    }
    default:
      return diagnosis satisfies never;
  }
}
