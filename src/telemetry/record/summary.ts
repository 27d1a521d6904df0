/** The summary of a turn in the list, computed without making its record. */
import type { Message } from "../../harmony/conversation.ts";
import type { Decision } from "../../turn/steering/decision.ts";
import { outcomeOf, type RecordInput } from "./record-input.ts";
import type { TurnSummary } from "./turn-summary.ts";

const MAX_WORDS = 120;

/** Decisions by which the gateway neither writes nor constrains anything. */
const UNSTEERED = new Set<Decision["type"]>([
  "continue",
  "finish",
  "fail",
  "run-tool",
  "check-answer",
  "check-calls",
]);

export function toSummary(input: RecordInput, keepsContent: boolean): TurnSummary {
  const { exchange, recording } = input;
  const end = recording?.end;
  const calls = (recording?.emitted ?? []).flatMap(({ part }) =>
    "name" in part ? [part.name] : [],
  );
  return {
    at: input.at.toISOString(),
    id: input.id,
    api: exchange?.api ?? null,
    tenant: input.tenant,
    model: input.model ?? "",
    words: keepsContent ? firstWords(recording?.rendered?.turn.messages ?? []) : "",
    outcome: outcomeOf(input),
    status: exchange?.status ?? null,
    promptTokens: end?.usage.promptTokens ?? recording?.rendered?.prompt.length ?? null,
    completionTokens: end?.usage.completionTokens ?? null,
    firstTokenMs: recording?.calls[0]?.firstToken ?? null,
    ms: recording?.ended ?? null,
    steered: unique(
      (recording?.decisions ?? [])
        .map(({ decision }) => decision.type)
        .filter((type) => !UNSTEERED.has(type)),
    ),
    repairs: [...(end?.recoveries.keys() ?? [])],
    reasoningFrom: exchange?.answerHeaders["x-harmony-cot"] ?? null,
    calls: unique(calls),
  };
}

function firstWords(messages: readonly Message[]): string {
  const last = messages.findLast(({ role }) => role === "user");
  if (last === undefined) return "";
  const { content } = last;
  const text =
    typeof content === "string"
      ? content
      : content.map((part) => (part.type === "text" ? part.text : "")).join(" ");
  return text.slice(0, MAX_WORDS).replaceAll(/\s+/g, " ").trim();
}

function unique<T>(values: readonly T[]): T[] {
  return [...new Set(values)];
}
