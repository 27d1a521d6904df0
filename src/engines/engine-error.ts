/** What can go wrong between us and an engine, as one class with a `kind` that decides what happens next. */

export type EngineErrorKind =
  /** No connection: refused, unknown host, connection reset before an answer. */
  | "unreachable"
  /** Every backend has failed lately, and none is tried again yet. */
  | "unavailable"
  /** No answer, first token or next token in time. */
  | "timeout"
  /** The server asks us to come back later: busy, loading, queue full (503). */
  | "overloaded"
  | "rate-limit"
  /** The tenant has as many requests waiting or in flight as it may. The message is for the client. */
  | "tenant-limit"
  /** The server refuses our key: the operator's mistake, not the client's. */
  | "auth"
  /** The server does not know the model or the path. */
  | "not-found"
  /** Prompt and budget do not fit the model's context. */
  | "context-length"
  /** The server refuses a parameter the client sent. */
  | "bad-request"
  /** The server failed (5xx, an error frame) or broke the protocol. */
  | "server-error"
  /** The stream ended without a finish. */
  | "closed";

export class EngineError extends Error {
  readonly kind: EngineErrorKind;
  /** The HTTP status the server answered with, if it answered. */
  readonly status: number | undefined;
  /** Seconds after which to try again, if the server said so. */
  readonly retryAfter: number | undefined;
  /** The server's own words without our URL around them: what a client may be told. */
  readonly serverMessage: string | undefined;
  /** The id of the backend that failed, where there is a pool: for the log. */
  backend: string | undefined;

  constructor(
    kind: EngineErrorKind,
    message: string,
    details: {
      status?: number;
      retryAfter?: number;
      serverMessage?: string;
      cause?: unknown;
    } = {},
  ) {
    super(message, { cause: details.cause });
    this.name = "EngineError";
    this.kind = kind;
    this.status = details.status;
    this.retryAfter = details.retryAfter;
    this.serverMessage = details.serverMessage;
  }
}
