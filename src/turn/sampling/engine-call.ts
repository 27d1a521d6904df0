/**
 * Makes one engine call: limits the call to the turn's remaining tokens, counts its usage and adds the request's own
 * fields.
 */
import { GPT_OSS_CONTEXT } from "../../engines/models-probe.ts";
import { EngineError } from "../../engines/engine-error.ts";
import type { CompletionRequest, Engine, EngineEvent, EngineTokens } from "../../engines/engine.ts";
import type { RenderedPrompt } from "../../harmony/prompt.ts";
import { consume, type Demand, guard } from "../../streams/push-stream.ts";
import { toMarkerReading } from "../reading/shown-markers.ts";
import { sentLength } from "../prompt/transcript.ts";
import { emitStart, type TurnState } from "../turn-state.ts";
import type { Turn } from "../turn.ts";

interface EngineCall extends Pick<
  CompletionRequest,
  "sampling" | "stopIds" | "constraint" | "topLogprobs"
> {
  readonly prompt: RenderedPrompt;
  /** Maximum tokens. Absent: all remaining tokens of the turn. */
  readonly maxTokens?: number;
}

export interface TokenReader {
  /**
   * Consumes the tokens of one read, reports them as a fact and counts the used ones. Returns false to end the call.
   */
  take(tokens: EngineTokens): Demand;
  /** Called at the end of the call, or with its usage: reads tokens that {@link take} has only passed on. */
  settle?(): void;
}

/** The end of an engine call. */
export type CallEnd =
  | {
      readonly type: "finished";
      readonly reason: "stop" | "length";
      /** The finish reason in the server's spelling. */
      readonly nativeReason: string | null;
      /** Whether the call's limit was all remaining tokens of the turn. */
      readonly isTurnLimit: boolean;
    }
  | { readonly type: "cut" }
  /** The request or context limit was already reached, so the engine was not called. */
  | { readonly type: "no-tokens-left" };

/**
 * Rejects with the engine's `EngineError`, also if its stream ends without a finish event, and with any error of
 * `reader`.
 */
export async function callEngine(
  state: TurnState,
  { prompt, maxTokens = Infinity, ...call }: EngineCall,
  reader: TokenReader,
): Promise<CallEnd> {
  const { turn, engine, usage, onFact } = state;
  const promptLength = sentLength(prompt, engine.capabilities);
  const left = tokensLeft(state, promptLength);
  if (left < 1) return { type: "no-tokens-left" };

  const reading = new Reading(state, reader, left <= maxTokens);
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
  usage.beginCall(promptLength, request.maxTokens);
  try {
    const guarded = guard<EngineEvent>(reading);
    await consume(engine.complete(request, state.signal), guarded.consumer);
    guarded.check();
  } catch (error) {
    // A call that was stopped with its turn is not a failure.
    if (!state.signal.aborted) onFact?.({ type: "call-failed", error });
    throw error;
  } finally {
    reader.settle?.();
  }
  if (reading.end === undefined) {
    throw new EngineError("closed", `${engine.name} ended its stream without a finish`);
  }
  return reading.end;
}

/** Reads the events of one engine call. */
class Reading {
  end: CallEnd | undefined;
  readonly #state: TurnState;
  readonly #reader: TokenReader;
  readonly #isTurnLimit: boolean;

  constructor(state: TurnState, reader: TokenReader, isTurnLimit: boolean) {
    this.#state = state;
    this.#reader = reader;
    this.#isTurnLimit = isTurnLimit;
  }

  take(event: EngineEvent): Demand {
    switch (event.type) {
      case "open":
        this.#state.onFact?.(event);
        if (event.engine) readAs(this.#state, event.engine);
        return emitStart(this.#state);
      case "progress":
        this.#state.onFact?.(event);
        return this.#state.output.emit([{ ...event, type: "prefill" }]);
      case "finish":
        this.#reader.settle?.();
        this.#state.onFact?.(event);
        this.#state.usage.endCall(event.usage);
        this.end = {
          type: "finished",
          reason: event.reason,
          nativeReason: event.nativeReason,
          isTurnLimit: this.#isTurnLimit,
        };
        return false;
      case "ids":
        if (event.cachedTokens !== undefined) this.#state.usage.addCached(event.cachedTokens);
        return this.#takeTokens(event);
      case "pieces":
      case "text":
        return this.#takeTokens(event);
      default:
        return event satisfies never;
    }
  }

  #takeTokens(tokens: EngineTokens): Demand {
    const more = this.#reader.take(tokens);
    return typeof more === "boolean"
      ? this.#noteCut(more)
      : more.then((wanted) => this.#noteCut(wanted));
  }

  #noteCut(more: boolean): boolean {
    if (!more) this.end ??= { type: "cut" };
    return more;
  }
}

/** Called when another engine of a pool answers. */
function readAs({ parser, steering, onFact }: TurnState, engine: Engine): void {
  const reading = toMarkerReading(engine, steering);
  onFact?.({ type: "read-as", markers: reading.markers });
  parser.readAs(reading);
}

/** Tokens that may still be sampled: the minimum of the limits of request, context and operator. */
function tokensLeft(state: TurnState, promptLength: number): number {
  const { turn, contextLength, steering, usage } = state;
  const fallback = contextLength === undefined ? steering.defaultMaxOutputTokens : Infinity;
  const most = Math.min(turn.maxOutputTokens ?? fallback, lockedTokens(turn));
  const byRequest = most - usage.completionTokens();
  const byContext = contextLength === undefined ? GPT_OSS_CONTEXT : contextLength - promptLength;
  return Math.min(byRequest, byContext);
}

/** The preset's locked limit. It also applies to turns without the request's limit, such as summaries. */
function lockedTokens({ preset }: Turn): number {
  const { lock = [], maxOutputTokens = Infinity } = preset ?? {};
  return lock.includes("maxOutputTokens") ? maxOutputTokens : Infinity;
}
