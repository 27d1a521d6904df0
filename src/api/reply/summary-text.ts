/** Summaries of conversations, equal on every API. */
import type { Message } from "../../harmony/conversation.ts";
import { createPushStream, type PushStream } from "../../streams/push-stream.ts";
import { collectTurn, type FinishedTurn } from "../../turn/collect.ts";
import type { TurnEvent } from "../../turn/turn.ts";

/** Requests a summary from the model. */
export const SUMMARY_INSTRUCTIONS =
  "Summarize this conversation so that you could go on from the summary alone: what was asked for, what was " +
  "decided and done, what tools returned that still matters, and what is left to do. Write only the summary.";

const HEADING = "Summary of the conversation so far:\n\n";

/** The user message that replaces the summarized messages. */
export function summaryText(summary: string): string {
  return HEADING + summary;
}

export function isSummary({ content }: Message): boolean {
  return typeof content === "string" && content.startsWith(HEADING);
}

/**
 * The summary that a turn has written. Undefined: the turn has no summary, or one that was cut off, which would lose
 * the rest of the conversation.
 */
export function finishedSummary({ answer, end }: FinishedTurn): string | undefined {
  return end.finish === "stop" && answer.trim() !== "" ? answer : undefined;
}

/** The failure of a turn whose summary was cut off or is missing. */
export const UNFINISHED_SUMMARY = {
  kind: "invalid_answer",
  message: "The model did not finish a summary of the conversation.",
} as const;

/** The events of a turn that writes a summary, with one event in place of the turn's parts. */
export function asSummary<Summary>(
  events: AsyncIterable<TurnEvent>,
  toEvent: (summary: string) => Summary | Promise<Summary>,
): PushStream<TurnEvent | Summary> {
  return createPushStream(async (consumer) => {
    const finished = await collectTurn(
      events,
      (event) => event.type !== "start" || consumer(event),
    );
    const { end } = finished;
    const summary = finishedSummary(finished);
    if (summary === undefined) {
      await consumer({ ...end, finish: "error", failure: end.failure ?? UNFINISHED_SUMMARY });
      return;
    }
    await consumer(await toEvent(summary));
    await consumer(end);
  });
}
