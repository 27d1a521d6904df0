/** Running a turn: the conversation is rendered, the engine asked, and what it writes told as events. */
import type { Engine } from "../engines/engine.ts";
import { createFlow, type Flow, Gate, takeAll } from "../flow.ts";
import { dropFinishedAnalysis } from "../harmony/analysis.ts";
import type { Message } from "../harmony/conversation.ts";
import { createOpenings } from "../harmony/openings.ts";
import { createRenderer, type Layout } from "../harmony/render.ts";
import { o200kHarmony } from "../tokenizer/index.ts";
import { toAffinity } from "./affinity.ts";
import { createOutput } from "./output.ts";
import { createRepetitionGuard } from "./repetition.ts";
import { createReader } from "./reader.ts";
import { closePart, type Run } from "./run-state.ts";
import { steer } from "./steer.ts";
import type { Steering } from "./steering.ts";
import { createTally } from "./tally.ts";
import { createTranscript, sentLength } from "./transcript.ts";
import { TurnError } from "./turn-error.ts";
import type { FinishReason, Turn, TurnEvent } from "./turn.ts";

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
    const run = prepare(turn, deps, emit, signal);
    try {
      const { reason, failure } = await steer(run);
      closePart(run, reason);
      const { output, reader } = run;
      const end: TurnEvent = {
        type: "end",
        finish: failure ? "error" : toFinishReason(reason, output.count("tool-call")),
        nativeReason: run.nativeReason,
        usage: run.tally.toUsage(reader.reasoningTokens),
        recoveries: new Map([...reader.recoveries, ...run.repairs]),
        ...(output.stopSequence !== undefined && { stopSequence: output.stopSequence }),
        ...(failure && { failure }),
      };
      await run.emit([end]);
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

function prepare(turn: Turn, deps: RunDeps, emit: Run["emit"], signal: AbortSignal): Run {
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
    openings: createOpenings(renderer, tokenizer, deps.layout),
    transcript: createTranscript(prompt, tokenizer),
    output: createOutput({
      stop: turn.stop,
      newCallId: deps.newCallId,
      foldPreambles: turn.answer.type !== "text",
      refuses: refusedCalls(turn, steering),
    }),
    tally: createTally(),
    repetition: steering.repetitionGuard ? createRepetitionGuard() : undefined,
    reader: createReader(
      tokenizer,
      turn.tools.map((tool) => tool.name),
    ),
    started: false,
    nativeReason: null,
    repairs: new Map(),
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

function toFinishReason(reason: "stop" | "length", calls: number): FinishReason {
  if (reason === "length") return "length";
  return calls > 0 ? "tool-calls" : "stop";
}

const renderers = new Map<Layout, ReturnType<typeof createRenderer>>();

/** One for each layout, because each keeps the encoded messages of running conversations. */
function rendererFor(layout: Layout): ReturnType<typeof createRenderer> {
  let renderer = renderers.get(layout);
  if (!renderer) renderers.set(layout, (renderer = createRenderer({ layout })));
  return renderer;
}
