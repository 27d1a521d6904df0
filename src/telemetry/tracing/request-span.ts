/** The span of an HTTP request. The span of a stream ends with its last turn, not with its headers. */
import {
  context,
  createContextKey,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from "@opentelemetry/api";
import {
  ERROR_TYPE,
  HTTP_METHOD,
  HTTP_ROUTE,
  HTTP_STATUS,
  PROTOCOL,
  REASONING,
  REQUEST_ID,
} from "./conventions.ts";
import { extractContext, failSpan, hasTracer, tracer } from "./tracer.ts";

export interface TracedRequest {
  readonly id: string;
  readonly method: string;
  readonly headers: Headers;
}

export interface TracedAnswer {
  /** The pattern of the route. */
  readonly route: string;
  readonly status: number;
  /** The source of the reasoning of a tool loop: `sent`, `sealed`, `stored`, `lost`. Absent: there was no reasoning. */
  readonly reasoning: string | undefined;
  /** The body is still being written. */
  readonly isStream: boolean;
}

/** Runs a request within its span, in the trace that its client has sent. */
export async function traceRequest(
  request: TracedRequest,
  handle: () => Promise<TracedAnswer>,
): Promise<void> {
  const parent = extractContext(request.headers);
  const span = tracer().startSpan(request.method, { kind: SpanKind.SERVER }, parent);
  const open = new OpenRequest(span);
  const own = trace.setSpan(parent, span).setValue(OPEN_REQUEST, open);
  let answer: TracedAnswer | undefined;
  try {
    answer = await context.with(own, handle);
    describe(span, request, answer);
  } catch (error) {
    failSpan(span, error);
    throw error;
  } finally {
    open.answered(answer?.isStream === true);
  }
}

/** A message of a WebSocket that is answered. */
export interface TracedMessage {
  readonly id: string;
  readonly route: string;
  /** Headers of the request that opened the connection. */
  readonly headers: Headers;
}

/**
 * Runs the handler of a message within its span, in the trace that the connection's client has sent.
 *
 * @param answer resolves with the status of an equivalent HTTP request
 */
export async function traceMessage(
  { id, route, headers }: TracedMessage,
  answer: () => Promise<number>,
): Promise<void> {
  if (!hasTracer()) {
    await answer();
    return;
  }
  const parent = extractContext(headers);
  const span = tracer().startSpan(`WEBSOCKET ${route}`, { kind: SpanKind.SERVER }, parent);
  const open = new OpenRequest(span);
  try {
    const own = trace.setSpan(parent, span).setValue(OPEN_REQUEST, open);
    const status = await context.with(own, answer);
    span.setAttributes({ [HTTP_ROUTE]: route, [PROTOCOL]: "websocket", [REQUEST_ID]: id });
    markFailed(span, status);
  } catch (error) {
    failSpan(span, error);
    throw error;
  } finally {
    open.answered(false);
  }
}

function describe(
  span: Span,
  { id, method }: TracedRequest,
  { route, status, reasoning }: TracedAnswer,
): void {
  if (!span.isRecording()) return;
  span.updateName(`${method} ${route}`);
  span.setAttributes({
    [HTTP_METHOD]: method,
    [HTTP_ROUTE]: route,
    [HTTP_STATUS]: status,
    [REQUEST_ID]: id,
    ...(reasoning !== undefined && { [REASONING]: reasoning }),
  });
  markFailed(span, status);
}

function markFailed(span: Span, status: number): void {
  if (status < 500) return;
  span.setAttribute(ERROR_TYPE, String(status));
  span.setStatus({ code: SpanStatusCode.ERROR });
}

const OPEN_REQUEST = createContextKey("harmony-gateway request");

/** Ends the span once: when the answer is complete and, for a stream, its turns have ended. */
class OpenRequest {
  readonly #span: Span;
  #turns = 0;
  #isAnswered = false;

  constructor(span: Span) {
    this.#span = span;
  }

  answered(isStream: boolean): void {
    this.#isAnswered = true;
    if (!isStream || this.#turns === 0) this.#end();
  }

  turnBegan(): void {
    this.#turns += 1;
  }

  turnEnded(): void {
    this.#turns -= 1;
    if (this.#isAnswered && this.#turns === 0) this.#end();
  }

  #end(): void {
    // Ending a span twice prints a warning: background work continues after its request.
    if (this.#span.isRecording()) this.#span.end();
  }
}

/** Called when a turn of the running request begins. Returns a function to call at its end. */
export function holdRequest(): () => void {
  const open = context.active().getValue(OPEN_REQUEST);
  if (!(open instanceof OpenRequest)) return () => {};
  open.turnBegan();
  return () => open.turnEnded();
}

/** Wraps work of the running request that begins later, in other code. The request's span ends after it. */
export function withinRequest<A>(
  work: (argument: A) => Promise<void>,
): (argument: A) => Promise<void> {
  const release = holdRequest();
  return context.bind(context.active(), (argument: A) => work(argument).finally(release));
}
