/** Shared by plain and streamed messages: ids, how thinking is shown, and mapped values. */
import type { ShownCall } from "../../tools/builtin-tool.ts";
import type { TurnEnd, TurnUsage } from "../../turn/turn.ts";
import type { ShownThinking } from "./thinking.ts";

export interface ReplyOptions {
  /** `msg_…` */
  readonly id: string;
  /** The model as the client named it. */
  readonly model: string;
  readonly thinking: ShownThinking;
  /** Until when an interpreter used by this message is kept at least, in RFC 3339. */
  readonly containerExpiresAt: string;
}

export type StopReason = "end_turn" | "max_tokens" | "stop_sequence" | "tool_use";

/** Maps the end of a turn that has not failed. */
export function toStop({ finish, stopSequence }: TurnEnd): {
  readonly stop_reason: StopReason;
  readonly stop_sequence: string | null;
} {
  if (finish === "tool-calls") return { stop_reason: "tool_use", stop_sequence: null };
  if (finish === "length") return { stop_reason: "max_tokens", stop_sequence: null };
  if (stopSequence === undefined) return { stop_reason: "end_turn", stop_sequence: null };
  return { stop_reason: "stop_sequence", stop_sequence: stopSequence };
}

/** The interpreter that ran code. Sent back as `container`, a later request goes on with its variables. */
export function toContainer(
  shown: ShownCall | undefined,
  { containerExpiresAt }: ReplyOptions,
): { id: string; expires_at: string; skills: null } | undefined {
  if (shown?.type !== "code" || shown.containerId === "") return undefined;
  return { id: shown.containerId, expires_at: containerExpiresAt, skills: null };
}

/** Clients add up the three input counts. Output tokens include thinking. */
export function toUsage(usage: TurnUsage) {
  return {
    input_tokens: usage.promptTokens - usage.cachedTokens,
    cache_read_input_tokens: usage.cachedTokens,
    cache_creation_input_tokens: 0,
    output_tokens: usage.completionTokens,
    output_tokens_details: { thinking_tokens: usage.reasoningTokens },
    ...(usage.builtins && {
      server_tool_use: {
        web_search_requests: usage.builtins.searches,
        web_fetch_requests: usage.builtins.opens,
      },
    }),
  };
}
