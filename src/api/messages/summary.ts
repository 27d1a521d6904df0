/**
 * `compaction: {type: "summarize"}`: the reply is one block with a summary of the conversation. Later the client sends
 * the block in place of the summarized messages.
 */
import { collectTurn, type FinishedTurn } from "../../turn/collect.ts";
import { createPushStream, type PushStream } from "../../streams/push-stream.ts";
import type { TurnEvent, TurnFailure } from "../../turn/turn.ts";
import { describeTurnFailure, refusal } from "../errors.ts";
import type { Opening } from "../reply/stream-reply.ts";
import {
  finishedSummary,
  SUMMARY_INSTRUCTIONS,
  UNFINISHED_SUMMARY,
} from "../reply/summary-text.ts";
import { sseFrame } from "../reply/event-stream.ts";
import { BlockFrames, compactionBlock, frame } from "./content-blocks.ts";
import type { HistoryEntry } from "./history-entry.ts";
import { type ReplyOptions, toDiagnostics, toMessageUsage, toUsage } from "./reply.ts";
import type { CountRequest, MessagesRequest } from "./request.ts";
import { errorFrame, messageStart } from "./to-events.ts";
import type { CollectedMessage } from "./to-message.ts";

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

/** Undefined: the turn has written a summary. */
function summaryFailure(finished: FinishedTurn): TurnFailure | undefined {
  if (finishedSummary(finished) !== undefined) return undefined;
  return finished.end.failure ?? UNFINISHED_SUMMARY;
}

export async function collectSummary(
  events: AsyncIterable<TurnEvent>,
  options: ReplyOptions,
): Promise<CollectedMessage> {
  const finished = await collectTurn(events);
  const failure = summaryFailure(finished);
  const end = { ...finished.end, ...(failure && { failure }) };
  return { end, toJson: () => toSummaryMessage(finished, options) };
}

function toSummaryMessage(finished: FinishedTurn, options: ReplyOptions): string {
  const { id, model } = options;
  const content = [compactionBlock(finishedSummary(finished) ?? "")];
  const head = { id, type: "message", role: "assistant", model, content };
  const usage = toMessageUsage(finished.end.usage);
  return JSON.stringify({
    ...head,
    ...STOP,
    usage,
    container: null,
    diagnostics: toDiagnostics(options),
  });
}

/** Never fails: a failure is the last frame. */
export function toSummaryFrames(
  events: AsyncIterable<TurnEvent>,
  options: ReplyOptions,
  { fail }: Pick<Opening, "fail">,
): PushStream<string> {
  return createPushStream(async (consumer) => {
    try {
      const finished = await collectTurn(
        events,
        (event) => event.type !== "start" || consumer(messageStart(options, event.promptTokens)),
      );
      await consumer(toFrames(finished, options));
    } catch (error) {
      await consumer(errorFrame(fail(error), options));
    }
  });
}

function toFrames(finished: FinishedTurn, options: ReplyOptions): string {
  const failure = summaryFailure(finished);
  if (failure !== undefined) return errorFrame(describeTurnFailure(failure), options);
  const stop = JSON.stringify({ ...STOP, container: null });
  const usage = JSON.stringify(toUsage(finished.end.usage));
  return (
    new BlockFrames().compaction(finishedSummary(finished) ?? "") +
    frame("message_delta", `"delta":${stop},"usage":${usage}`) +
    sseFrame('{"type":"message_stop"}', "message_stop")
  );
}

const STOP = { stop_reason: "compaction", stop_sequence: null, stop_details: null } as const;
