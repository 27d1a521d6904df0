/** Shared by plain and streamed messages: ids, how thinking is shown, and mapped values. */
import type { TurnEnd, TurnUsage } from "../../turn/turn.ts";
import type { ShownThinking } from "./thinking.ts";

export interface ReplyOptions {
  /** `msg_…` */
  readonly id: string;
  /** The model as the client named it. */
  readonly model: string;
  readonly thinking: ShownThinking;
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

/** Clients add up the three input counts. Output tokens include thinking. */
export function toUsage(usage: TurnUsage) {
  return {
    input_tokens: usage.promptTokens - usage.cachedTokens,
    cache_read_input_tokens: usage.cachedTokens,
    cache_creation_input_tokens: 0,
    output_tokens: usage.completionTokens,
    output_tokens_details: { thinking_tokens: usage.reasoningTokens },
  };
}
