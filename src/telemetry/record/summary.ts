/** The summary of a turn in the list, computed without building its record. */
import type { Message } from "../../harmony/conversation.ts";
import type { Decision } from "../../turn/steering/decision.ts";
import { toAffinity } from "../../turn/prompt/affinity.ts";
import type { Turn } from "../../turn/turn.ts";
import { toClientName } from "../client-name.ts";
import { toErrorText } from "./to-calls.ts";
import { outcomeOf, type RecordInput } from "./record-input.ts";
import type { Conversation, TurnSummary } from "./turn-summary.ts";

const MAX_WORDS = 120;
const MAX_PROBLEM = 300;

/** Decisions by which the gateway neither writes nor constrains any output. */
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
    client: toClientName(exchange?.headers["user-agent"]) ?? null,
    conversation: toConversation(exchange?.headers ?? {}, recording?.rendered?.turn),
    model: input.model ?? "",
    forkedFrom: exchange?.forkedFrom ?? null,
    backend: recording?.calls.at(-1)?.backend ?? null,
    words: keepsContent ? firstWords(recording?.rendered?.turn.prompt.messages ?? []) : "",
    hasContent: keepsContent,
    outcome: outcomeOf(input),
    status: exchange?.status ?? null,
    problem: keepsContent ? problemOf(input) : null,
    promptTokens: end?.usage.promptTokens ?? recording?.rendered?.prompt.length ?? null,
    completionTokens: end?.usage.completionTokens ?? null,
    cachedTokens: end?.usage.cachedTokens ?? null,
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

/** Headers with which clients identify a conversation. */
const SESSION_HEADERS = ["x-session-id", "x-claude-code-session-id"];

function toConversation(
  headers: Readonly<Record<string, string>>,
  turn: Turn | undefined,
): Conversation | null {
  if (turn === undefined) return null;
  const session = SESSION_HEADERS.map((name) => headers[name]).find((each) => each !== undefined);
  if (session !== undefined) return { id: session.slice(0, MAX_WORDS), by: "session" };
  const beginning = toAffinity(turn.tenant, turn.prompt.messages);
  return turn.affinity === undefined || turn.affinity === beginning
    ? { id: beginning, by: "beginning" }
    : { id: turn.affinity.slice(0, MAX_WORDS), by: "session" };
}

function problemOf({ exchange, recording }: RecordInput): string | null {
  const error = recording?.failure?.error;
  const text = error === undefined ? exchange?.error : toErrorText(error);
  return text?.slice(0, MAX_PROBLEM) ?? null;
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
