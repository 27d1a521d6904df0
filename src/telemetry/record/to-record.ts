/** Makes the record of a turn from what was collected of it, when somebody reads the record. */
import { dropFinishedAnalysis } from "../../harmony/analysis.ts";
import { bodyText, offersFunctions } from "../../harmony/body.ts";
import type { Message } from "../../harmony/conversation.ts";
import { o200kHarmony } from "../../tokenizer/index.ts";
import type { TurnRendered } from "../../turn/facts.ts";
import type { Preset } from "../../turn/preset.ts";
import type { Decision } from "../../turn/steering/decision.ts";
import { DEFAULT_STEERING, type Steering } from "../../turn/steering/settings.ts";
import { headerOf } from "./recorded-header.ts";
import { type PutBack, putBackOf } from "../../turn/sampled/put-back.ts";
import { toErrorText } from "./error-text.ts";
import type { Exchange, TimedText } from "./exchange.ts";
import type { ParsedAgain } from "./parse-again.ts";
import { toCalls } from "./to-calls.ts";
import { toParts, toRecoveries } from "./to-parts.ts";
import { outcomeWithoutTurn, type RecordInput } from "./record-input.ts";
import type { DecisionNote, TurnRecording } from "./recording.ts";
import {
  RECORD_VERSION,
  type RecordedAnswer,
  type RecordedDecision,
  type RecordedMessage,
  type TurnRecord,
} from "./schema.ts";
import type { RecordPosition } from "./seen-record.ts";
import type { RecordSlices } from "./build-slices.ts";

/**
 * The record of a turn so far.
 *
 * @param parsed continues where it stopped the last time
 * @param since what the reader knows already: calls before its last one are left out, and the known reads of that one.
 *   Parts are always complete.
 */
export function* toRecord(
  input: RecordInput,
  parsed: ParsedAgain | undefined,
  since: RecordPosition,
): RecordSlices<TurnRecord> {
  const { exchange, recording } = input;
  const rendered = recording?.rendered;
  const isNew = rendered !== undefined && !since.prompt;
  // Before the reads are collected: these notes must not refer to reads that are not in the record.
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

function toSettings(
  { turn, layout, steering, contextLength, parsing, capabilities }: TurnRendered,
  exchange: Exchange | undefined,
): TurnRecord["settings"] {
  const own = turn.tools.map(({ name }) => name);
  return {
    layout,
    contextLength: contextLength ?? null,
    capabilities: {
      ...capabilities,
      constraints: [...capabilities.constraints],
      sampling: [...capabilities.sampling],
    },
    reasoningPolicy: exchange?.reasoningPolicy ?? null,
    steering: toSteering(steering),
    toolChoice: {
      type: turn.toolChoice.type,
      ...("names" in turn.toolChoice && { names: [...turn.toolChoice.names] }),
    },
    tools: own,
    ...toShownTools(turn),
    textTools: [...parsing.textTools],
    builtins: parsing.builtins.map(({ name, functions, rawBody }) => ({
      name,
      functions: [...functions],
      rawBody,
    })),
    gatewayTools: parsing.toolNames.filter((name) => !own.includes(name)),
    ...(turn.builtins && {
      toolRuns: { maxCalls: turn.builtins.maxCalls, citations: turn.builtins.citations },
    }),
    answer: turn.answer.type,
    reasoning: { ...turn.reasoning },
    ...(turn.preset && { preset: toPreset(turn.preset) }),
    maxOutputTokens: turn.maxOutputTokens ?? null,
    parallelToolCalls: turn.parallelToolCalls,
    stop: [...turn.stop],
  };
}

function toShownTools({
  tools,
}: TurnRendered["turn"]): Pick<NonNullable<TurnRecord["settings"]>, "shownTools"> {
  const shownTools = tools.flatMap(({ name, shownAs }) =>
    shownAs === undefined ? [] : [{ name, as: shownAs }],
  );
  return shownTools.length > 0 ? { shownTools } : {};
}

function toPreset(preset: Preset): NonNullable<TurnRecord["settings"]>["preset"] {
  const { name, lock, instructions, ...rest } = preset;
  const { model: _m, description: _d, unlisted: _u, nameShield: _n, ...values } = rest;
  return {
    name,
    values: Object.fromEntries(
      Object.entries(values).flatMap(([field, value]) =>
        value === undefined ? [] : [[field, value]],
      ),
    ),
    lock: [...lock],
    ...(instructions !== undefined && { instructions }),
  };
}

/** Its own fields only: the object can be that of all settings, keys included. */
function toSteering(steering: Steering): Record<string, number | boolean> {
  const given = new Map<string, number | boolean>(Object.entries(steering));
  return Object.fromEntries(
    Object.entries(DEFAULT_STEERING).map(([name, value]) => [name, given.get(name) ?? value]),
  );
}

function toConversation(rendered: TurnRendered, input: RecordInput): RecordedMessage[] {
  const { turn, prompt } = rendered;
  const { messages } = turn;
  const dropped = new Map(
    dropFinishedAnalysis(messages).dropped.map(({ index, finishedBy }) => [index, finishedBy]),
  );
  const lengths = new Map<Message, number>();
  for (const segment of prompt.segments) {
    if (segment.type === "rendered" && segment.message) {
      lengths.set(segment.message, segment.length);
    }
  }
  const hasFunctions = offersFunctions(messages);
  return messages.map((message, index) => {
    const text = bodyText(message, hasFunctions);
    const finishedBy = dropped.get(index);
    return {
      ...headerOf(message),
      ...toWritten(putBackOf(message)),
      text,
      tokens: lengths.get(message) ?? o200kHarmony().encode(text).length,
      source: input.findSource(message, text, turn.tenant, input.exchange),
      ...(finishedBy !== undefined && {
        dropped: { reason: "finished" as const, finishedBy },
      }),
    };
  });
}

function toPrompt(
  { turn, prompt }: TurnRendered,
  cachedTokens: number | undefined,
): TurnRecord["prompt"] {
  const indices = new Map(turn.messages.map((message, index) => [message, index]));
  return {
    ids: [...prompt.ids],
    segments: prompt.segments.map((segment) => {
      const message = segment.type === "rendered" ? segment.message : undefined;
      return {
        message: (message && indices.get(message)) ?? null,
        tokens: segment.length,
      };
    }),
    cachedTokens: cachedTokens ?? null,
  };
}

function toWritten(note: PutBack | undefined): Pick<RecordedMessage, "written"> {
  if (note === undefined) return {};
  const { pieces, because } = note;
  if (pieces !== undefined) return { written: { as: "sampled" } };
  return { written: { as: "rendered", ...(because !== undefined && { because }) } };
}

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
    if (exchange?.status === undefined) return null;
    const { status, error } = exchange;
    const outcome = outcomeWithoutTurn(status);
    return { outcome, nativeReason: null, ...(error !== undefined && { error }) };
  }
  const { end, failure } = recording;
  if (failure !== undefined) {
    const error = toErrorText(failure.error);
    return { outcome: failure.outcome, nativeReason: null, error };
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
