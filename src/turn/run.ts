/** Runs a turn: renders the conversation, calls the engine and emits its output as events. */
import { createPushStream, type PushStream } from "../streams/push-stream.ts";
import { createTurnState, type EncodedTurn, type RunDeps } from "./create-turn-state.ts";
import { TurnOutput } from "./output/turn-output.ts";
import { encodeText } from "./prompt/prompt.ts";
import type { Conclusion } from "./steering/decision.ts";
import { steer } from "./steering/steer.ts";
import type { TurnState } from "./turn-state.ts";
import type { FinishReason, Turn, TurnEnd, TurnEvent, TurnUsage } from "./turn.ts";

/**
 * Emits `start` once the engine has accepted the request, then the parts as they are generated, then `end`.
 *
 * Fails with a `TurnError` before the engine is called, or with an `EngineError` at any time. Aborting the
 * signal, or a consumer that wants no more events, closes the engine's connection.
 */
export function runTurn(turn: Turn, deps: RunDeps, signal: AbortSignal): PushStream<TurnEvent> {
  return createPushStream(async (consumer) => {
    const output = new TurnOutput(consumer, deps.onFact);
    const encoded = await encodeTurn(turn, deps, signal);
    const cacheSalt = await deps.cacheSalts?.(turn.tenant);
    const state = createTurnState(turn, { ...encoded, cacheSalt }, deps, output, signal);
    if (encoded.prompt.length > LONG_PROMPT) await deps.pause();
    try {
      const conclusion = await steer(state);
      await output.emit([toEnd(state, conclusion)]);
    } catch (error) {
      // If the consumer stopped early, the error only means that the engine was not read to its end.
      if (await output.demand) throw error;
    } finally {
      await state.gatewayTools?.close();
    }
  });
}

/**
 * Longer prompts, in tokens, yield to the event loop before they are sent: each of `n` choices serialises its
 * own.
 */
const LONG_PROMPT = 16_384;

async function encodeTurn(
  { tenant, prompt, prefill }: Turn,
  { layout, contextLength, pause }: RunDeps,
  signal: AbortSignal,
): Promise<EncodedTurn> {
  const options = { layout, tenant, contextLength, pause, signal };
  const rendered = await prompt.render(options);
  const prefillIds = prefill === undefined ? [] : await encodeText(prefill, options);
  return { prompt: rendered, prefillIds };
}

function toEnd(state: TurnState, conclusion: Conclusion): TurnEnd {
  const { parser, emitter } = state;
  return {
    type: "end",
    finish: toFinishReason(conclusion, emitter.count("tool-call")),
    nativeReason: state.nativeReason,
    usage: toUsage(state),
    recoveries: new Map([...parser.recoveries, ...state.repairs]),
    ...(state.invalidCalls.length > 0 && { invalidCalls: state.invalidCalls }),
    ...(emitter.stopSequence !== undefined && { stopSequence: emitter.stopSequence }),
    ...(conclusion.type === "fail" && { failure: conclusion.failure }),
    ...(conclusion.type === "finish" &&
      conclusion.reason === "interrupted" && { isInterrupted: true }),
    ...(state.gatewayTools && { toolStates: state.gatewayTools.save() }),
  };
}

function toUsage({ usage, parser, emitter, gatewayTools }: TurnState): TurnUsage {
  const counted = usage.toUsage(parser.reasoningTokens);
  if (gatewayTools === undefined) return counted;
  const { executed, searches, opens } = gatewayTools;
  const outputTokens = usage.toolOutputTokens();
  const requested = emitter.count("builtin-call");
  return { ...counted, gatewayTools: { requested, executed, searches, opens, outputTokens } };
}

function toFinishReason(conclusion: Conclusion, calls: number): FinishReason {
  if (conclusion.type === "fail") return "error";
  if (conclusion.reason === "length") return "length";
  return calls > 0 ? "tool-calls" : "stop";
}
