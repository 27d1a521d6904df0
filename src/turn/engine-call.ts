/**
 * Makes one engine call: limits it to the turn's remaining tokens, counts its usage and adds the request's
 * own fields.
 */
import { EngineError } from "../engines/engine-error.ts";
import type { CompletionRequest, Engine, EngineEvent, EngineTokens } from "../engines/engine.ts";
import { consume, type Demand, guard } from "../streams/push-stream.ts";
import { toMarkerReading } from "./shown-markers.ts";
import { createTextMeter } from "./text-meter.ts";
import { type CountedPrompt, sentLength } from "./transcript.ts";
import { emitStart, type TurnState } from "./turn-state.ts";

interface EngineCall extends Pick<
  CompletionRequest,
  "sampling" | "stopIds" | "constraint" | "topLogprobs"
> {
  readonly prompt: CountedPrompt;
  /** In tokens. Absent: all that the turn has left. */
  readonly maxTokens?: number;
}

/** Adds tokens to the turn's usage. Call it once per token, and not for tokens after a cut. */
export type CountTokens = (tokens: EngineTokens) => void;

/** Consumes the tokens of one read. Returns false to end the call. */
type ConsumeTokens = (tokens: EngineTokens, count: CountTokens) => Demand;

type CallEnd =
  | {
      readonly type: "finished";
      readonly reason: "stop" | "length";
      /** The finish reason as the server spelled it. */
      readonly nativeReason: string | null;
      /** The call's limit was all that the turn had left. */
      readonly isTurnLimit: boolean;
    }
  | { readonly type: "cut" }
  /** The request or context limit was already reached, so the engine was not called. */
  | { readonly type: "no-tokens-left" };

/**
 * Throws the engine's `EngineError`, also if its stream ends without a finish event, and whatever
 * `consumeTokens` throws.
 */
export async function callEngine(
  state: TurnState,
  { prompt, maxTokens = Infinity, ...call }: EngineCall,
  consumeTokens: ConsumeTokens,
): Promise<CallEnd> {
  const { turn, engine, usage, onFact } = state;
  const promptLength = sentLength(prompt, engine.capabilities);
  const left = tokensLeft(state, promptLength);
  if (left < 1) return { type: "no-tokens-left" };

  const meter = createTextMeter(state.tokenizer);
  const count: CountTokens = (tokens) => {
    switch (tokens.type) {
      case "ids":
        return usage.add(tokens.ids.length);
      case "pieces":
        return usage.add(sum(tokens.counts));
      case "text":
        return tokens.tokens === undefined ? meter.push(tokens.text) : usage.add(tokens.tokens);
      default:
        tokens satisfies never;
    }
  };

  let end: CallEnd | undefined;
  const noteCut = (more: boolean): boolean => {
    if (!more) end ??= { type: "cut" };
    return more;
  };
  const readTokens = (tokens: EngineTokens): Demand => {
    const more = consumeTokens(tokens, count);
    return typeof more === "boolean" ? noteCut(more) : more.then(noteCut);
  };
  const reading = guard((event: EngineEvent): Demand => {
    onFact?.(event);
    switch (event.type) {
      case "open":
        if (event.engine) readAs(state, event.engine);
        return emitStart(state);
      case "finish":
        usage.endCall(event.usage);
        end = {
          type: "finished",
          reason: event.reason,
          nativeReason: event.nativeReason,
          isTurnLimit: left <= maxTokens,
        };
        return false;
      case "ids":
        if (event.cachedTokens !== undefined) usage.addCached(event.cachedTokens);
        return readTokens(event);
      case "pieces":
      case "text":
        return readTokens(event);
      default:
        return event satisfies never;
    }
  });

  const request: CompletionRequest = {
    ...call,
    prompt,
    maxTokens: Math.min(maxTokens, left),
    requestId: turn.id,
    tenant: turn.tenant,
    ...(state.cacheSalt !== undefined && { cacheSalt: state.cacheSalt }),
    ...(turn.affinity !== undefined && { affinity: turn.affinity }),
    ...(turn.engineHeaders && { headers: turn.engineHeaders }),
    ...(onFact && { onAttempt: onFact }),
  };
  onFact?.({ type: "called", stage: state.stage, request });
  state.nativeReason = null;
  usage.beginCall(promptLength, {
    // Text that ends within a token is encoded as several. The engine samples no more than was requested.
    tokens: () => Math.min(meter.tokens(), request.maxTokens),
  });
  try {
    await consume(engine.complete(request, state.signal), reading.consumer);
    reading.check();
  } catch (error) {
    onFact?.({ type: "call-failed", error });
    throw error;
  }
  if (end === undefined) {
    throw new EngineError("closed", `${engine.name} ended its stream without a finish`);
  }
  return end;
}

/** Another engine of a pool answers. */
function readAs({ parser, steering, onFact }: TurnState, engine: Engine): void {
  const reading = toMarkerReading(engine, steering);
  onFact?.({ type: "read-as", markers: reading.markers });
  parser.readAs(reading);
}

function sum(counts: readonly number[]): number {
  let total = 0;
  for (const count of counts) total += count;
  return total;
}

/** Tokens that may still be sampled: the minimum of what the request, the context and the operator allow. */
function tokensLeft(state: TurnState, promptLength: number): number {
  const { turn, contextLength, steering, usage } = state;
  const fallback = contextLength === undefined ? steering.defaultMaxOutputTokens : Infinity;
  const byRequest = (turn.maxOutputTokens ?? fallback) - usage.completionTokens();
  const byContext = (contextLength ?? Infinity) - promptLength;
  return Math.min(byRequest, byContext);
}
