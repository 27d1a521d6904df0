/**
 * The part of OpenTelemetry's API that the gateway uses. Without an SDK it has no effect. The runtime registers an SDK: on Node
 * in `node/telemetry/start-tracing.ts`, elsewhere in the program that embeds the gateway.
 */
import {
  type Context,
  context,
  propagation,
  ProxyTracerProvider,
  type Span,
  SpanStatusCode,
  trace,
  type Tracer,
} from "@opentelemetry/api";
import { EngineError } from "../../engines/engine-error.ts";
import { TurnError } from "../../turn/turn-error.ts";
import { ERROR_TYPE } from "./conventions.ts";

export function tracer(): Tracer {
  return trace.getTracer("harmony-gateway");
}

/** Whether an SDK is registered. Without one no trace data is needed. */
export function hasTracer(): boolean {
  const provider = trace.getTracerProvider();
  if (!(provider instanceof ProxyTracerProvider)) return true;
  return provider.getDelegateTracer("harmony-gateway") !== undefined;
}

/** Removes the registered SDK: new spans are not exported. */
export function unregisterTracer(): void {
  trace.disable();
  context.disable();
  propagation.disable();
}

/** The id of the trace that the running code belongs to, for the log. */
export function currentTraceId(): string | undefined {
  return trace.getSpanContext(context.active())?.traceId;
}

/** Continues the trace that a client has sent, if there is a propagator. */
export function extractContext(headers: Headers): Context {
  return propagation.extract(context.active(), headers, {
    get: (carrier, key) => carrier.get(key) ?? undefined,
    keys: (carrier) => [...carrier.keys()],
  });
}

/**
 * The headers by which an engine continues the trace. Baggage is left out, as it is text of the client.
 */
export function toTraceHeaders(own: Context): Record<string, string> {
  const headers: Record<string, string> = {};
  propagation.inject(own, headers);
  delete headers["baggage"];
  return headers;
}

/** Marks a span as failed, without the error's message, which can quote a prompt. */
export function failSpan(span: Span, error: unknown): void {
  span.setAttribute(ERROR_TYPE, toErrorType(error));
  span.setStatus({ code: SpanStatusCode.ERROR });
}

export function toErrorType(error: unknown): string {
  if (error instanceof EngineError || error instanceof TurnError) return error.kind;
  return error instanceof Error ? error.name : "_OTHER";
}
