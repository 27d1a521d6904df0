/** The error class for all failures of an engine. Its `kind` decides on retries and the client's status. */

export type EngineErrorKind =
  /** No connection: refused, unknown host, connection reset before an answer. */
  | "unreachable"
  /** All backends are down or paused after failures. */
  | "unavailable"
  /** No answer, first token or next token within the timeout. */
  | "timeout"
  /** The server cannot accept the request now: busy, queue full (503). */
  | "overloaded"
  /** The model is being downloaded or loaded. */
  | "loading"
  | "rate-limit"
  /** The tenant has reached its limit of queued or in-flight requests. The message is for the client. */
  | "tenant-limit"
  /** The server refuses the gateway's key: a configuration error, not the client's. */
  | "auth"
  /** The server does not know the model or the path. */
  | "not-found"
  /** Prompt and token limit together exceed the model's context. */
  | "context-length"
  /** The server refuses a parameter the client sent. */
  | "bad-request"
  /** The server failed (5xx, an error frame) or broke the protocol. */
  | "server-error"
  /** The stream ended without a finish event. */
  | "closed";

/**
 * @example
 * ```ts
 * import { createEngine, EngineError } from "harmony-gateway";
 *
 * let kind;
 * try {
 *   createEngine("completions", { model: "gpt-oss-20b" });
 * } catch (error) {
 *   if (error instanceof EngineError) kind = error.kind;
 * }
 * kind; // => "unreachable"
 * ```
 */
export class EngineError extends Error {
  readonly kind: EngineErrorKind;
  /** The HTTP status the server answered with, if it answered. */
  readonly status: number | undefined;
  /** Seconds after which to retry, if the server sent them. */
  readonly retryAfter: number | undefined;
  /** The server's own message, without the backend's URL: may be shown to a client. */
  readonly serverMessage: string | undefined;
  /** The id of the backend that failed, set by the pool for the log. */
  backend: string | undefined;
  /** The cause with all details for diagnosis, including hosts: for the operator only. */
  readonly operatorMessage: string;

  constructor(
    kind: EngineErrorKind,
    message: string,
    details: {
      status?: number;
      retryAfter?: number;
      serverMessage?: string;
      /** Absent: equal to the message. */
      operatorMessage?: string;
      cause?: unknown;
    } = {},
  ) {
    super(message, { cause: details.cause });
    this.name = "EngineError";
    this.kind = kind;
    this.status = details.status;
    this.retryAfter = details.retryAfter;
    this.serverMessage = details.serverMessage;
    this.operatorMessage = details.operatorMessage ?? message;
  }
}
