/** Runs a turn: renders the conversation, calls the engine and emits its output as events. */
import { createPushStream, type PushStream } from "../streams/push-stream.ts";
import { createTurnState, type EncodedTurn, type RunDeps } from "./create-turn-state.ts";
import { TurnOutput } from "./output/turn-output.ts";
import { encodeText, type PromptOptions } from "./prompt/prompt.ts";
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
    const encoding = encodeTurn(turn, deps, signal);
    // `await` costs a microtask even for a plain value.
    const encoded = encoding instanceof Promise ? await encoding : encoding;
    const salting = deps.cacheSalts?.(turn.tenant);
    const cacheSalt = salting instanceof Promise ? await salting : salting;
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

function encodeTurn(
  turn: Turn,
  { layout, contextLength, pause }: RunDeps,
  signal: AbortSignal,
): EncodedTurn | Promise<EncodedTurn> {
  const options = { layout, tenant: turn.tenant, contextLength, pause, signal };
  if (turn.prefill !== undefined) return encodeWithPrefill(turn, turn.prefill, options);
  const prompt = turn.prompt.render(options);
  if (prompt instanceof Promise) return prompt.then((each) => ({ prompt: each, prefillIds: [] }));
  return { prompt, prefillIds: [] };
}

async function encodeWithPrefill(
  turn: Turn,
  prefill: string,
  options: PromptOptions,
): Promise<EncodedTurn> {
  const prompt = await turn.prompt.render(options);
  return { prompt, prefillIds: await encodeText(prefill, options) };
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
