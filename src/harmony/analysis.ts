/**
 * Which chain of thought is left out of the prompt.
 *
 * The model expects its thoughts back while it is still working towards an answer, and was trained without those of
 * answers already given.
 */

import type { Message } from "./conversation.ts";

export interface DropResult {
  /** What is to be rendered, in its order. */
  readonly kept: readonly Message[];
  /** What is left out, in its order. */
  readonly dropped: readonly DroppedMessage[];
}

export interface DroppedMessage {
  readonly message: Message;
  /** Its place in the messages given. */
  readonly index: number;
  /** The place of the final assistant message that finished the turn it belonged to. */
  readonly finishedBy: number;
}

/**
 * OpenAI's rule for implementers: every message on `analysis` before the last assistant message on `final`
 * goes, whatever its role or recipient; all others stay where they are. While tool calls are running, the
 * thoughts since the last answer are therefore kept.
 */
export function dropFinishedAnalysis(messages: readonly Message[]): DropResult {
  const kept: Message[] = [];
  const dropped: DroppedMessage[] = [];
  // From the back, so that the next answer is known when a thought is met.
  let finishedBy: number | undefined;
  for (const [index, message] of [...messages.entries()].toReversed()) {
    if (message.role === "assistant" && message.channel === "final") finishedBy = index;
    if (message.channel === "analysis" && finishedBy !== undefined) {
      dropped.push({ message, index, finishedBy });
    } else {
      kept.push(message);
    }
  }
  return { kept: kept.toReversed(), dropped: dropped.toReversed() };
}

/**
 * The reference library's own rule, for comparison with it: nothing is dropped unless the last assistant message
 * is on `final`, and then only what stands before the **first** message on `final`, of whatever role.
 */
export function dropAnalysisLikeReference(messages: readonly Message[]): readonly Message[] {
  const last = messages.findLast((message) => message.role === "assistant");
  if (last?.channel !== "final") return messages;
  const first = messages.findIndex((message) => message.channel === "final");
  return messages.filter((message, index) => index >= first || message.channel !== "analysis");
}
