/** Running a turn: the conversation is rendered, the engine asked, and what it writes told as events. */
import type { Engine } from "../engines/engine.ts";
import { createFlow, type Flow, Gate, takeAll } from "../flow.ts";
import { dropFinishedAnalysis } from "../harmony/analysis.ts";
import type { Message } from "../harmony/conversation.ts";
import { createMessagePrefixes } from "../harmony/message-prefixes.ts";
import { createRenderer, type Layout } from "../harmony/render.ts";
import { o200kHarmony } from "../tokenizer/index.ts";
import { toAffinity } from "./affinity.ts";
import type { Conclusion } from "./next-step.ts";
import { createPartEmitter } from "./part-emitter.ts";
import { createRepetitionGuard } from "./repetition.ts";
import { toSingleCallConstraint } from "./single-call-constraint.ts";
import { steer } from "./steer.ts";
import type { Steering } from "./steering.ts";
import { createTranscript, sentLength } from "./transcript.ts";
import { TurnError } from "./turn-error.ts";
import { createTurnParser } from "./turn-parser.ts";
import type { TurnState } from "./turn-state.ts";
import type { FinishReason, Turn, TurnEnd, TurnEvent } from "./turn.ts";
import { createUsageCounter } from "./usage-counter.ts";

export interface RunDeps {
  readonly engine: Engine;
  readonly steering: Steering;
  /** Tokens of prompt and completion together, when it is known. */
  readonly contextLength: number | undefined;
  readonly layout: Layout;
  /** `call_` and something unguessable: it is the key under which the call's thought is kept. */
  readonly newCallId: () => string;
}

/**
 * Gives `start` when the engine has accepted, then the parts as they are written, then `end`.
 *
 * Fails with a `TurnError` before the engine is asked, or an `EngineError` at any time. Aborting the signal
 * or wanting no more events closes the engine's connection.
 */
export function runTurn(turn: Turn, deps: RunDeps, signal: AbortSignal): Flow<TurnEvent> {
  return createFlow(async (take) => {
    const gate = new Gate();
    const emit = (events: readonly TurnEvent[]) => gate.pass(() => takeAll(events, take));
    const state = prepare(turn, deps, emit, signal);
    try {
      const conclusion = await steer(state);
      await state.emit([toEnd(state, conclusion)]);
    } catch (error) {
      // Where nobody wants more, the engine was not heard to its end.
      if (await gate.more) throw error;
    }
  });
}

/** How many tokens a conversation is as a prompt: of messages as a turn holds them. */
export function countPromptTokens(messages: readonly Message[], layout: Layout): number {
  const { kept } = dropFinishedAnalysis(messages);
  return rendererFor(layout).renderCompletion({ messages: kept }).length;
}

function prepare(
  turn: Turn,
  deps: RunDeps,
  emit: TurnState["emit"],
  signal: AbortSignal,
): TurnState {
  const { engine, steering, contextLength } = deps;
  const tokenizer = o200kHarmony();
  const renderer = rendererFor(deps.layout);
  const prompt = renderer.renderCompletion({ messages: dropFinishedAnalysis(turn.messages).kept });
  const length = sentLength(prompt, engine.capabilities);
  if (contextLength !== undefined && length >= contextLength) {
    throw new TurnError(
      "context-length",
      `This model's maximum context length is ${contextLength} tokens, but the messages and tools ` +
        `are ${length} tokens long.`,
    );
  }
  if (turn.topLogprobs !== undefined && !engine.capabilities.logprobs) {
    throw new TurnError("unsupported", "logprobs: the engine behind this model gives none.");
  }
  return {
    turn: turn.affinity === undefined ? { ...turn, affinity: toAffinity(turn) } : turn,
    engine,
    steering,
    contextLength,
    signal,
    emit,
    tokenizer,
    renderer,
    prefixes: createMessagePrefixes(renderer, tokenizer, deps.layout),
    transcript: createTranscript(prompt, tokenizer),
    parser: createTurnParser(
      tokenizer,
      turn.tools.map((tool) => tool.name),
    ),
    emitter: createPartEmitter({
      stop: turn.stop,
      newCallId: deps.newCallId,
      foldPreambles: turn.answer.type !== "text",
      // What is demanded is a call: an answer beside it is none.
      omits: turn.toolChoice.type === "required" ? ["content"] : [],
      refuses: refusedCalls(turn, steering),
    }),
    usage: createUsageCounter(),
    repetition: steering.repetitionGuard ? createRepetitionGuard() : undefined,
    singleCallConstraint: toSingleCallConstraint(turn, engine, steering),
    stage: "free",
    callsBefore: 0,
    started: false,
    nativeReason: null,
    repairs: new Map(),
  };
}

function toEnd(state: TurnState, conclusion: Conclusion): TurnEnd {
  const { parser, emitter } = state;
  return {
    type: "end",
    finish: toFinishReason(conclusion, emitter.count("tool-call")),
    nativeReason: state.nativeReason,
    usage: state.usage.toUsage(parser.reasoningTokens),
    recoveries: new Map([...parser.recoveries, ...state.repairs]),
    ...(emitter.stopSequence !== undefined && { stopSequence: emitter.stopSequence }),
    ...(conclusion.type === "fail" && { failure: conclusion.failure }),
  };
}

function refusedCalls(turn: Turn, steering: Steering): (name: string) => boolean {
  const { toolChoice } = turn;
  if (toolChoice.type === "allowed" || toolChoice.type === "required") {
    return (name) => !toolChoice.names.includes(name);
  }
  if (!steering.refuseUnofferedTools) return () => false;
  const offered = new Set(turn.tools.map((tool) => tool.name));
  return (name) => !offered.has(name);
}

function toFinishReason(conclusion: Conclusion, calls: number): FinishReason {
  if (conclusion.type === "fail") return "error";
  if (conclusion.reason === "length") return "length";
  return calls > 0 ? "tool-calls" : "stop";
}

const renderers = new Map<Layout, ReturnType<typeof createRenderer>>();

/** One for each layout, because each keeps the encoded messages of running conversations. */
function rendererFor(layout: Layout): ReturnType<typeof createRenderer> {
  let renderer = renderers.get(layout);
  if (!renderer) renderers.set(layout, (renderer = createRenderer({ layout })));
  return renderer;
}
