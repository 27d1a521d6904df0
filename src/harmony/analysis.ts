/**
 * Decides which analysis messages are left out of the prompt.
 *
 * The model expects its analysis back while it is still working towards an answer. It was trained without the
 * analysis of answers already given.
 */

import type { Message } from "./conversation.ts";

export interface DropResult {
  /** Messages to render, in order. */
  readonly kept: readonly Message[];
  /** Messages left out, in order. */
  readonly dropped: readonly DroppedMessage[];
}

export interface DroppedMessage {
  readonly message: Message;
  /** Index in the given messages. */
  readonly index: number;
  /** Index of the final assistant message that ended the turn it belonged to. */
  readonly finishedBy: number;
}

/**
 * The index at which the running tool loop begins: after the last answer. Analysis before it is dropped, and therefore
 * never looked up or restored. All forms of a history share this rule; each API defines what counts as an answer.
 */
export function runningLoopStart<T>(
  history: readonly T[],
  isAnswer: (item: T, index: number) => boolean,
): number {
  return history.findLastIndex(isAnswer) + 1;
}

/**
 * OpenAI's rule for implementers: drops every message on `analysis` before the last assistant message on
 * `final`, whatever its role or recipient, and keeps all others. Analysis since the last answer is therefore
 * kept while tool calls are running.
 *
 * @example
 * ```ts
 * import { dropFinishedAnalysis, type Message } from "harmony-gateway/harmony";
 *
 * const messages: Message[] = [
 *   { role: "user", content: "2 + 2?" },
 *   { role: "assistant", channel: "analysis", content: "Easy." },
 *   { role: "assistant", channel: "final", content: "4" },
 *   { role: "user", content: "And 3 + 3?" },
 * ];
 * dropFinishedAnalysis(messages).kept.length; // => 3
 * ```
 */
export function dropFinishedAnalysis(messages: readonly Message[]): DropResult {
  const kept: Message[] = [];
  const dropped: DroppedMessage[] = [];
  // The loop runs backwards, so that the following answer is known when analysis is found.
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
 * The reference library's rule, for comparison with it: drops nothing unless the last assistant message is on
 * `final`, and then only analysis before the **first** message on `final`, of any role.
 *
 * @example
 * ```ts
 * import { dropAnalysisLikeReference, type Message } from "harmony-gateway/harmony";
 *
 * const messages: Message[] = [
 *   { role: "assistant", channel: "analysis", content: "Easy." },
 *   { role: "assistant", channel: "final", content: "4" },
 * ];
 * dropAnalysisLikeReference(messages).map(({ channel }) => channel); // => ["final"]
 * ```
 */
export function dropAnalysisLikeReference(messages: readonly Message[]): readonly Message[] {
  const last = messages.findLast((message) => message.role === "assistant");
  if (last?.channel !== "final") return messages;
  const first = messages.findIndex((message) => message.channel === "final");
  return messages.filter((message, index) => index >= first || message.channel !== "analysis");
}
