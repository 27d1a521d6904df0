/** Spans of turns, of their engine calls and of the tools the gateway runs in them. */
import { context, trace } from "@opentelemetry/api";
import { type Models, withTurnHook } from "../../models/models.ts";
import { consume, createPushStream } from "../../streams/push-stream.ts";
import type { TurnEvent } from "../../turn/turn.ts";
import { toFailure } from "../describe-for-log.ts";
import { holdRequest } from "./request-span.ts";
import { hasTracer, toTraceHeaders, tracer } from "./tracer.ts";
import { TurnTrace } from "./turn-trace.ts";

export interface TracingOptions {
  /** Prompts and answers may be attributes of spans. */
  readonly capturesContent: boolean;
}

/** The outermost hook of a turn, so that other hooks run within its span. */
export function traceModels(models: Models, options: TracingOptions): Models {
  return withTurnHook(models, (model, turn, signal, run) => {
    if (!hasTracer()) return run(turn, signal);
    const parent = context.active();
    const span = tracer().startSpan(`chat ${model.id}`, undefined, parent);
    const own = trace.setSpan(parent, span);
    if (!span.isRecording()) {
      span.end();
      // The turn is not sampled, but the client's trace is still sent to the engine.
      const headers = toTraceHeaders(parent);
      return Object.keys(headers).length === 0
        ? run(turn, signal)
        : run({ ...turn, engineHeaders: () => headers }, signal);
    }
    const release = holdRequest();
    const watched = new TurnTrace({ span, own, turn, model, ...options });
    return createPushStream<TurnEvent>(
      (consumer) =>
        context.with(own, async () => {
          try {
            const traced = { ...turn, engineHeaders: watched.headers };
            await consume(run(traced, signal, watched.onFact), (event) => {
              watched.see(event);
              return consumer(event);
            });
            watched.end("cancelled");
          } catch (error) {
            watched.end(signal.aborted ? "cancelled" : toFailure(error), error);
            throw error;
          } finally {
            release();
          }
        }),
      () => {
        watched.end("cancelled");
        release();
      },
    );
  });
}
