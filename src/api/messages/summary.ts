/**
 * `compaction: {type: "summarize"}`: the reply is one block with a summary of the conversation. Later the client sends
 * the block in place of the summarized messages.
 */
import { refusal } from "../errors.ts";
import { SUMMARY_INSTRUCTIONS } from "../reply/summary-text.ts";
import type { HistoryEntry } from "./history-entry.ts";
import type { CountRequest, MessagesRequest } from "./request.ts";

/** The request for the summary: without tool calls, with little thinking, and of any length. */
export function toSummaryRequest({
  max_tokens: _limit,
  stop_sequences: _stop,
  thinking: _thinking,
  output_format: _format,
  ...rest
}: CountRequest & Partial<MessagesRequest>): CountRequest {
  return { ...rest, tool_choice: { type: "none" }, output_config: { effort: "low" } };
}

/** The conversation, and the request for its summary. Throws a {@link RequestError} if there is nothing to summarize. */
export function toSummaryEntries(
  entries: readonly HistoryEntry[],
  { compaction }: CountRequest,
): readonly HistoryEntry[] {
  if (entries.every(({ type }) => type === "instructions")) {
    throw refusal("compaction", "there is nothing to summarize", {
      details: { error_code: "compaction_nothing_to_summarize" },
    });
  }
  const last = entries.at(-1);
  if (last?.type === "assistant" && last.parts.some(({ type }) => type === "call")) {
    throw refusal("compaction", "the last tool call has no result yet", {
      details: { error_code: "compaction_incomplete_turn" },
    });
  }
  const instructions = compaction?.instructions?.trim();
  return [...entries, { type: "user", text: instructions || SUMMARY_INSTRUCTIONS }];
}
