/** One engine call: within what the turn has left, counted, and with the request's own fields. */
import { EngineError } from "../engines/engine-error.ts";
import type { CompletionRequest, EngineEvent, EngineTokens } from "../engines/engine.ts";
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
  /** Tokens. Absent: all that the turn has left. */
  readonly maxTokens?: number;
}

/** Adds tokens to the turn's usage. Each token has to be counted once; those behind a cut are not. */
export type CountTokens = (tokens: EngineTokens) => void;

/** Takes what one read brought. False: enough has been read, and the call is ended. */
type TakeTokens = (tokens: EngineTokens, count: CountTokens) => Demand;

type CallEnd =
  | {
      readonly type: "finished";
      readonly reason: "stop" | "length";
      /** The server's own word for it. */
      readonly nativeReason: string | null;
      /** The call was given all that the turn had left. */
      readonly isTurnLimit: boolean;
    }
  | { readonly type: "cut" }
  /** The limit of the request or of the context is reached, and the engine was not asked. */
  | { readonly type: "no-tokens-left" };

/**
 * Throws an `EngineError` as the engine does, also when its stream ends without a finish, and whatever `take` throws.
 */
export async function callEngine(
  state: TurnState,
  { prompt, maxTokens = Infinity, ...call }: EngineCall,
  take: TakeTokens,
): Promise<CallEnd> {
  const { turn, engine, usage } = state;
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
  const heed = (more: boolean): boolean => {
    if (!more) end ??= { type: "cut" };
    return more;
  };
  const reading = guard((event: EngineEvent): Demand => {
    switch (event.type) {
      case "open":
        if (event.engine) state.parser.readAs(toMarkerReading(event.engine, state.steering));
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
      case "pieces":
      case "text": {
        const more = take(event, count);
        return typeof more === "boolean" ? heed(more) : more.then(heed);
      }
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
  };
  state.nativeReason = null;
  usage.beginCall(promptLength, meter);
  await consume(engine.complete(request, state.signal), reading.consumer);
  reading.check();
  if (end === undefined) {
    throw new EngineError("closed", `${engine.name} ended its stream without a finish`);
  }
  return end;
}

function sum(counts: readonly number[]): number {
  let total = 0;
  for (const count of counts) total += count;
  return total;
}

/** What may still be sampled, in tokens: the least of what the request, the context and the operator leave. */
function tokensLeft(state: TurnState, promptLength: number): number {
  const { turn, contextLength, steering, usage } = state;
  const fallback = contextLength === undefined ? steering.defaultMaxOutputTokens : Infinity;
  const byRequest = (turn.maxOutputTokens ?? fallback) - usage.completionTokens;
  const byContext = (contextLength ?? Infinity) - promptLength;
  return Math.min(byRequest, byContext);
}
