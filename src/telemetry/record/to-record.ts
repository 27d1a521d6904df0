/** Builds the record of a turn from its collected data, on demand. */
import type { RecordSlices } from "./build-slices.ts";
import type { Exchange, TimedText } from "./exchange.ts";
import type { ParsedAgain } from "./parse-again.ts";
import { outcomeWithoutTurn, type RecordInput } from "./record-input.ts";
import type { DecisionNote, TurnRecording } from "./recording.ts";
import {
  RECORD_VERSION,
  type RecordedAnswer,
  type RecordedDecision,
  type TurnRecord,
} from "./schema.ts";
import type { RecordPosition } from "./seen-record.ts";
import { toCalls, toErrorText } from "./to-calls.ts";
import { toParts, toRecoveries } from "./to-parts.ts";
import { toConversation, toPrompt, toSettings } from "./to-rendered.ts";
import type { Decision } from "../../turn/steering/decision.ts";

/**
 * The record of a turn up to now.
 *
 * @param parsed parse that continues at its last position
 * @param since the reader's position: calls before its last one are left out, and the known reads of that one. Parts are always
 * complete.
 */
export function* toRecord(
  input: RecordInput,
  parsed: ParsedAgain | undefined,
  since: RecordPosition,
): RecordSlices<TurnRecord> {
  const { exchange, recording } = input;
  const rendered = recording?.rendered;
  const isNew = rendered !== undefined && !since.prompt;
  // The notes come before the reads: they must not refer to reads that are not in the record.
  const parsing = since.prompt ? [] : toParsing(recording);
  if (parsed) yield* parsed.advance();
  const calls = recording === undefined ? [] : yield* toCalls(recording, since);
  const events = exchange?.events.slice(since.events) ?? [];
  const [first] = recording?.calls ?? [];
  const last = recording?.calls.at(-1);
  const { parts, recoveries } = toParsed(recording, parsed);
  return {
    version: RECORD_VERSION,
    gateway: input.gateway,
    id: input.id,
    at: input.at.toISOString(),
    api: exchange?.api ?? "responses",
    tenant: input.tenant,
    model: input.model ?? modelOf(exchange?.body ?? ""),
    engine: last?.engine ?? rendered?.engine ?? null,
    backend: last?.backend ?? null,
    content: true,
    reasoningFrom: reasoningFrom(exchange),
    ...(exchange?.forkedFrom !== undefined && { forkedFrom: exchange.forkedFrom }),
    request: exchange === undefined || since.prompt ? null : toRequest(exchange),
    settings: isNew ? toSettings(rendered, exchange) : null,
    conversation: isNew ? toConversation(rendered, input) : [],
    prompt: isNew ? toPrompt(rendered, first?.cachedTokens) : null,
    decisions: (recording?.decisions ?? []).slice(since.decisions).map((note) => toDecision(note)),
    calls,
    parts,
    recoveries: recoveries.slice(since.recoveries),
    ...toCited(recording),
    answer: exchange === undefined ? null : toAnswer(exchange, events),
    end: toEnd(input),
    times: {
      accepted: 0,
      queued: first?.asked ?? null,
      asked: first?.attempts[0]?.ms ?? first?.asked ?? null,
      firstByte: first?.opened ?? null,
      firstToken: first?.firstToken ?? null,
      end: recording?.ended ?? null,
    },
    parsing,
    cut: [...input.budget.cut],
  };
}

function toParsed(recording: TurnRecording | undefined, again: ParsedAgain | undefined) {
  if (recording === undefined || again === undefined) return { parts: [], recoveries: [] };
  const { parsed } = again;
  return { parts: toParts(recording, parsed), recoveries: toRecoveries(recording, parsed) };
}

function toCited(recording: TurnRecording | undefined): Pick<TurnRecord, "cited"> {
  if (recording === undefined || recording.cited.length === 0) return {};
  return {
    cited: recording.cited.map(({ cursor, lines, source }) => ({
      cursor,
      ...(lines && { lines: { ...lines } }),
      source: JSON.stringify(source),
    })),
  };
}

function toParsing(recording: TurnRecording | undefined): TurnRecord["parsing"] {
  return (recording?.parser ?? []).map((note) => {
    switch (note.type) {
      case "read":
        return { read: { call: note.call, units: note.units } };
      case "header":
        return { header: [...note.ids] };
      case "end":
        return { end: note.reason };
      case "restart":
        return { restart: true };
      case "markers":
        return { markers: note.markers };
      default:
        return note satisfies never;
    }
  });
}

function modelOf(body: string): string {
  return /"model"\s*:\s*"([^"\\]{1,128})"/.exec(body)?.[1] ?? "";
}

function reasoningFrom(exchange: Exchange | undefined): TurnRecord["reasoningFrom"] {
  const outcome = exchange?.answerHeaders["x-harmony-cot"];
  const known = ["sent", "sealed", "stored", "lost"] as const;
  return known.find((each) => each === outcome) ?? null;
}

function toRequest({ method, path, headers, body }: Exchange): TurnRecord["request"] {
  return { method, path, headers: { ...headers }, body };
}

function toAnswer(
  { status, answerHeaders, answerBody }: Exchange,
  events: TimedText[],
): RecordedAnswer | null {
  if (status === undefined) return null;
  const { "content-type": contentType = "", ...headers } = answerHeaders;
  return {
    status,
    contentType,
    headers,
    ...(answerBody !== undefined && { body: answerBody }),
    ...(events.length !== 0 && { events }),
  };
}

function toEnd({ exchange, recording }: RecordInput): TurnRecord["end"] {
  if (recording === undefined) {
    if (!exchange?.hasEnded) return null;
    const { error } = exchange;
    const outcome = outcomeWithoutTurn(exchange);
    return { outcome, nativeReason: null, ...(error !== undefined && { error }) };
  }
  const { end, failure } = recording;
  if (failure !== undefined) {
    const { outcome, error } = failure;
    return {
      outcome,
      nativeReason: null,
      ...(error !== undefined && { error: toErrorText(error) }),
    };
  }
  if (end === undefined) return null;
  const { promptTokens, cachedTokens, completionTokens, reasoningTokens, engineCalls } = end.usage;
  return {
    outcome: end.finish,
    nativeReason: end.nativeReason,
    ...(end.stopSequence !== undefined && { stopSequence: end.stopSequence }),
    ...(end.failure && { failure: { ...end.failure } }),
    usage: { promptTokens, cachedTokens, completionTokens, reasoningTokens, engineCalls },
  };
}

/** A decision of a turn in its record. */
function toDecision({ ms, decision, outcome }: DecisionNote): RecordedDecision {
  return {
    ms,
    type: decision.type,
    outcome: outcome.type,
    ...(outcome.type === "cut" && { cut: outcome.cut }),
    ...detailsOf(decision),
  };
}

function detailsOf(decision: Decision): Partial<RecordedDecision> {
  const repair = "repair" in decision && decision.repair ? { repair: decision.repair } : {};
  switch (decision.type) {
    case "retry-answer":
      return { ...repair, problem: decision.problem };
    case "retry-call":
    case "explain-call":
      return { ...repair, name: decision.wrong.tool.name, problem: decision.wrong.problem };
    case "choose-function":
      return { ...repair, names: [...decision.names] };
    case "open-call":
    case "refuse-call":
      return { ...repair, name: decision.name };
    case "open-builtin-call":
      return { name: decision.recipient };
    case "finish":
      return { reason: decision.reason };
    case "fail":
      return { reason: decision.failure.kind, problem: decision.failure.message };
    case "open-message":
    case "open-answer":
    case "continue":
    case "constrain-turn":
    case "skip-reasoning":
    case "open-reasoning":
    case "constrain-answer":
    case "check-answer":
    case "constrain-call":
    case "check-calls":
    case "write-approved-call":
    case "run-tool":
    case "ask-for-more-calls":
      return repair;
    default:
      return decision satisfies never;
  }
}
