/**
 * `compaction: {type: "summarize"}`: the reply is one block with a summary of the conversation. The client sends it in place
 * of the messages that it summarizes.
 */
import { collectTurn, type FinishedTurn } from "../../turn/collect.ts";
import { consume, createPushStream, type PushStream } from "../../streams/push-stream.ts";
import type { TurnEvent, TurnFailure } from "../../turn/turn.ts";
import { describeTurnFailure, RequestError } from "../errors.ts";
import type { Opening } from "../reply/stream-reply.ts";
import { SUMMARY_INSTRUCTIONS, UNFINISHED_SUMMARY } from "../reply/summary-text.ts";
import { sseFrame } from "../reply/event-stream.ts";
import { BlockFrames, compactionBlock, frame } from "./content-blocks.ts";
import type { HistoryEntry } from "./history-entry.ts";
import { type ReplyOptions, toMessageUsage, toUsage } from "./reply.ts";
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
    throw refusal("there is nothing to summarize", "compaction_nothing_to_summarize");
  }
  const last = entries.at(-1);
  if (last?.type === "assistant" && last.parts.some(({ type }) => type === "call")) {
    throw refusal("the last tool call has no result yet", "compaction_incomplete_turn");
  }
  const instructions = compaction?.instructions?.trim();
  return [...entries, { type: "user", text: instructions || SUMMARY_INSTRUCTIONS }];
}

function refusal(problem: string, code: string): RequestError {
  return new RequestError(`compaction: ${problem}`, {
    param: "compaction",
    details: { error_code: code },
  });
}

/** Why there is no summary. One that was cut off would lose the rest of the conversation. */
function summaryFailure(finished: FinishedTurn): TurnFailure | undefined {
  const { finish, failure } = finished.end;
  if (failure !== undefined) return failure;
  return finish === "stop" && textOf(finished).trim() !== "" ? undefined : UNFINISHED_SUMMARY;
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

function toSummaryMessage(finished: FinishedTurn, { id, model }: ReplyOptions): string {
  const content = [compactionBlock(textOf(finished))];
  const head = { id, type: "message", role: "assistant", model, content };
  const usage = toMessageUsage(finished.end.usage);
  return JSON.stringify({
    ...head,
    ...STOP,
    usage,
    container: null,
    diagnostics: null,
  });
}

/** Never fails: a failure is the last frame. */
export function toSummaryFrames(
  events: AsyncIterable<TurnEvent>,
  options: ReplyOptions,
  { fail }: Pick<Opening, "fail">,
): PushStream<string> {
  return createPushStream(async (consumer) => {
    const started = createPushStream<TurnEvent>((take) =>
      consume(events, async (event) => {
        if (event.type !== "start") return take(event);
        return (await consumer(messageStart(options, event.promptTokens))) && take(event);
      }),
    );
    try {
      await consumer(toFrames(await collectTurn(started), options));
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
    new BlockFrames().compaction(textOf(finished)) +
    frame("message_delta", `"delta":${stop},"usage":${usage}`) +
    sseFrame('{"type":"message_stop"}', "message_stop")
  );
}

const STOP = { stop_reason: "compaction", stop_sequence: null, stop_details: null } as const;

function textOf({ parts }: FinishedTurn): string {
  return parts.map((part) => (part.kind === "content" ? part.text : "")).join("");
}
