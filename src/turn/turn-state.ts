/** What a turn carries from one engine call to the next. */
import type { Constraint, Engine } from "../engines/engine.ts";
import type { Demand } from "../streams/push-stream.ts";
import type { MessagePrefixes } from "../harmony/message-prefixes.ts";
import type { Renderer } from "../harmony/render.ts";
import type { TokenId, Tokenizer } from "../tokenizer/index.ts";
import type { Stage } from "./next-step.ts";
import type { PartEmitter } from "./part-emitter.ts";
import type { RepetitionGuard } from "./repetition.ts";
import type { Steering } from "./steering.ts";
import type { Transcript } from "./transcript.ts";
import type { Turn, TurnEvent } from "./turn.ts";
import type { TurnParser } from "./turn-parser.ts";
import type { UsageCounter } from "./usage-counter.ts";

export interface TurnState {
  readonly turn: Turn;
  readonly engine: Engine;
  readonly steering: Steering;
  readonly contextLength: number | undefined;
  readonly signal: AbortSignal;
  /** Hands events over. False: the consumer wants no more, so nothing need be made. */
  readonly emit: (events: readonly TurnEvent[]) => Demand;
  readonly tokenizer: Tokenizer;
  readonly renderer: Renderer;
  readonly prefixes: MessagePrefixes;
  readonly transcript: Transcript;
  /** Of the answer to be continued. */
  readonly prefillIds: readonly TokenId[];
  /** Keeps the engine's prefix cache apart from other tenants'. */
  readonly cacheSalt: string | undefined;
  readonly parser: TurnParser;
  readonly emitter: PartEmitter;
  readonly usage: UsageCounter;
  readonly repetition: RepetitionGuard | undefined;
  /** For the whole turn, where the engine has one and the operator wants it. */
  readonly singleCallConstraint: Constraint | undefined;
  /** What the model is being asked for now. */
  stage: Stage;
  /** Calls there were when this stage began. */
  callsBefore: number;
  /** The engine has accepted a request. */
  started: boolean;
  nativeReason: string | null;
  /** What the turn itself had to repair, by name; the parser counts its own. */
  readonly repairs: Map<string, number>;
}

/** Note that the turn had to step in. */
export function countRepair(state: TurnState, name: string): void {
  state.repairs.set(name, (state.repairs.get(name) ?? 0) + 1);
}

/** The turn has begun: to be called before anything else is emitted. Does nothing the second time. */
export function emitStart(state: TurnState): Demand {
  if (state.started) return true;
  state.started = true;
  return state.emit([{ type: "start", promptTokens: state.usage.promptTokens }]);
}

/** Nothing more comes of what is being written: the parser gives what it still has. */
export function endMessage(state: TurnState, reason: "stop" | "length" = "stop"): void {
  void state.emit(state.emitter.push(state.parser.end(reason)));
}

/**
 * Begins an assistant message with this header, after ending the one that is being written. Without a header the
 * model writes its own.
 */
export function openMessage(state: TurnState, header: readonly TokenId[] = []): void {
  const { parser, transcript, prefixes } = state;
  endMessage(state);
  parser.restart();
  if (!transcript.atMessageStart) transcript.closeMessage();
  if (!transcript.atMessageStart) transcript.openMessage(prefixes.assistant);
  transcript.appendIds(header);
  void state.emit(state.emitter.push(parser.pushIds(header)));
}
