/** Summaries of conversations, alike on every API. */
import type { FinishedTurn } from "../../turn/collect.ts";

/** Asks the model for one. */
export const SUMMARY_INSTRUCTIONS =
  "Summarize this conversation so that you could go on from the summary alone: what was asked for, what was " +
  "decided and done, what tools returned that still matters, and what is left to do. Write only the summary.";

/** The user's message that stands for what was summarized. */
export function summaryText(summary: string): string {
  return `Summary of the conversation so far:\n\n${summary}`;
}

/** The summary that a turn has written. Undefined: none, or one that was cut off, which would lose the rest of the conversation. */
export function finishedSummary({ parts, end }: FinishedTurn): string | undefined {
  const text = parts.map((part) => (part.kind === "content" ? part.text : "")).join("");
  return end.finish === "stop" && text.trim() !== "" ? text : undefined;
}

/** The model was cut off, or wrote none. */
export const UNFINISHED_SUMMARY = {
  kind: "invalid_answer",
  message: "The model did not finish a summary of the conversation.",
} as const;
