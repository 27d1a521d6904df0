/** State kept between the engine calls of a turn. */
import type { Message } from "../harmony/conversation.ts";
import type { Constraint, Engine } from "../engines/engine.ts";
import type { Demand } from "../streams/push-stream.ts";
import type { MessagePrefixes } from "../harmony/message-prefixes.ts";
import type { InputEnd } from "../harmony/parse.ts";
import type { Renderer } from "../harmony/render.ts";
import type { OnFact } from "./facts.ts";
import type { TokenId, Tokenizer } from "../tokenizer/index.ts";
import type { GatewayToolRuns } from "./gateway-calls/gateway-runs.ts";
import type { Stage } from "./steering/decision.ts";
import type { PartEmitter } from "./output/part-emitter.ts";
import type { TurnRepair } from "./repairs.ts";
import type { RepetitionGuard } from "./reading/repetition.ts";
import type { Pause } from "../streams/slices.ts";
import type { Steering } from "./steering/settings.ts";
import type { Transcript } from "./prompt/transcript.ts";
import type { Turn } from "./turn.ts";
import type { TurnTools } from "./turn-tools.ts";
import type { TurnOutput } from "./output/turn-output.ts";
import type { TurnParser } from "./reading/turn-parser.ts";
import type { UsageCounter } from "./reading/usage-counter.ts";

export interface TurnState {
  readonly turn: Turn;
  readonly tools: TurnTools;
  readonly engine: Engine;
  readonly steering: Steering;
  readonly contextLength: number | undefined;
  readonly signal: AbortSignal;
  readonly output: TurnOutput;
  readonly tokenizer: Tokenizer;
  readonly renderer: Renderer;
  readonly prefixes: MessagePrefixes;
  readonly transcript: Transcript;
  /** Ids of the prefill. */
  readonly prefillIds: readonly TokenId[];
  /** Isolates tenants in the engine's prefix cache. */
  readonly cacheSalt: string | undefined;
  readonly parser: TurnParser;
  readonly emitter: PartEmitter;
  readonly usage: UsageCounter;
  /** Tools that the gateway runs. */
  readonly gatewayTools: GatewayToolRuns | undefined;
  readonly pause: Pause;
  /** Absent: there is no listener. */
  readonly onFact: OnFact | undefined;
  readonly repetition: RepetitionGuard | undefined;
  /** Constraint for the whole turn, if the engine supports it and the operator enabled it. */
  readonly singleCallConstraint: Constraint | undefined;
  /** The current purpose of sampling. */
  stage: Stage;
  /** Number of calls when this stage began. */
  callsBefore: number;
  /** Approved calls that have been made. */
  approvedRun: number;
  /** The engine has accepted a request. */
  started: boolean;
  nativeReason: string | null;
  /** The trained tools of calls that could not be converted, and were explained to the model. */
  readonly invalidCalls: string[];
  /** The turn's own repairs, by name. The parser counts its own. */
  repairs: ReadonlyMap<TurnRepair, number>;
}

/** Counts a repair made by the turn. */
export function countRepair(state: TurnState, name: TurnRepair): void {
  state.repairs = new Map(state.repairs).set(name, (state.repairs.get(name) ?? 0) + 1);
}

/** Emits `start`. Must precede all other events. Idempotent. */
export function emitStart(state: TurnState): Demand {
  if (state.started) return true;
  state.started = true;
  const { exactness } = state.turn.prompt;
  const promptTokens = state.usage.promptTokens();
  return state.output.emit([{ type: "start", promptTokens, ...(exactness && { exactness }) }]);
}

/** Ends the current message and emits the parser's held events. */
export function endMessage(state: TurnState, reason: InputEnd = "stop"): void {
  state.onFact?.({ type: "message-ended", reason });
  void state.output.emit(state.emitter.push(state.parser.end(reason)));
}

/** Ends a message within which the gateway stops reading, possibly in the middle of a spelled control token. */
export function cutMessage(state: TurnState): void {
  state.transcript.dropHalfMarker();
  endMessage(state, "cut");
}

/**
 * Ends the current message and begins an assistant message with this header. Without a header, the model
 * writes its own.
 */
export function openMessage(state: TurnState, header: readonly TokenId[] = []): void {
  const { transcript, prefixes } = state;
  endMessage(state);
  restartParser(state);
  if (!transcript.isAtMessageStart()) transcript.closeMessage();
  if (!transcript.isAtMessageStart()) transcript.openMessage(prefixes.assistant);
  transcript.appendIds(header);
  parseWritten(state, header);
}

/** Parses and emits tokens that the gateway has written in the model's place. */
export function parseWritten(state: TurnState, ids: readonly TokenId[]): void {
  state.onFact?.({ type: "parsed-header", ids });
  state.emitter.choosesHeaders = false;
  void state.output.emit(state.emitter.push(state.parser.pushIds(ids)));
}

/**
 * Appends messages that the model did not write. The model's open message ends with `terminator`, and another begins
 * after them.
 */
export function appendMessage(
  state: TurnState,
  terminator: TokenId,
  ...messages: readonly Message[]
): void {
  const { transcript, renderer, prefixes } = state;
  endMessage(state);
  restartParser(state);
  transcript.closeMessage(terminator);
  for (const message of messages) transcript.appendIds(renderer.renderMessage(message).ids);
  transcript.openMessage(prefixes.assistant);
}

function restartParser({ parser, onFact }: TurnState): void {
  onFact?.({ type: "restarted" });
  parser.restart();
}
