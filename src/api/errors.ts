/**
 * Errors sent to clients: one description for errors of every class. Each API puts it into its own envelope
 * (`errorEnvelope` in `api.ts`).
 */
import { EngineError } from "../engines/engine-error.ts";
import { StoreError } from "../store/store-error.ts";
import { type PromptTooLong, TurnError } from "../turn/turn-error.ts";
import type { TurnFailure } from "../turn/turn.ts";

/** OpenAI's `error.type`. */
export type ErrorType =
  | "invalid_request_error"
  | "authentication_error"
  | "permission_error"
  | "not_found_error"
  | "rate_limit_error"
  | "server_error";

/** An invalid request. `param` names the field as a client would write it: `messages[0].role`. */
export class RequestError extends Error {
  readonly status: 400 | 401 | 403 | 404 | 405 | 413 | 429 | 503;
  readonly type: ErrorType;
  readonly param: string | null;
  /** OpenRouter's more precise type, `metadata.error_type`. */
  readonly errorType: string;
  /** Seconds after which the client may try again. */
  readonly retryAfter: number | undefined;
  /** Machine-readable details, for APIs that can send them. */
  readonly details: object | undefined;
  /** The message for the log: without words of the client. */
  readonly reason: string;

  constructor(message: string, details: RequestErrorDetails = {}) {
    super(message);
    this.name = "RequestError";
    const { status = 400 } = details;
    const [type, errorType] = KINDS[status];
    this.status = status;
    this.type = type;
    this.param = details.param ?? null;
    this.errorType = details.errorType ?? errorType;
    this.retryAfter = details.retryAfter;
    this.details = details.details;
    this.reason = withoutMadeUpName(details.reason ?? withoutQuotes(message), this.param);
  }
}

interface RequestErrorDetails {
  /** Default: 400. */
  readonly status?: RequestError["status"];
  readonly param?: string | null;
  /** Default: that of the status. */
  readonly errorType?: string;
  readonly retryAfter?: number;
  readonly details?: object;
  readonly reason?: string;
}

/** OpenAI's and OpenRouter's types of a status. */
const KINDS: Readonly<Record<RequestError["status"], readonly [ErrorType, string]>> = {
  400: ["invalid_request_error", "invalid_request"],
  401: ["authentication_error", "authentication"],
  403: ["permission_error", "permission_denied"],
  404: ["not_found_error", "not_found"],
  405: ["invalid_request_error", "invalid_request"],
  413: ["invalid_request_error", "payload_too_large"],
  429: ["rate_limit_error", "rate_limit_exceeded"],
  503: ["server_error", "provider_overloaded"],
};

/** An error that names the field and its problem. */
export function refusal(
  param: string,
  problem: string,
  details?: Omit<RequestErrorDetails, "param">,
): RequestError {
  return new RequestError(`${param}: ${problem}`, { ...details, param });
}

/**
 * Quoted text comes from the client and may itself contain quotation marks, so everything from the first to the last is
 * removed.
 */
function withoutQuotes(message: string): string {
  return message.replace(/".*"/s, "…");
}

/** Clients make up the names of some members, such as those of `metadata`. */
function withoutMadeUpName(reason: string, param: string | null): string {
  return param === null || FIELD.test(param) ? reason : reason.replaceAll(param, "…");
}

const FIELD = /^[\w.[\]-]{0,256}$/;

export interface ErrorDescription {
  /** The HTTP status. */
  readonly status: number;
  readonly message: string;
  readonly type: ErrorType;
  /** The invalid field. Null with `context_length_exceeded`, where each API names the field of its conversation. */
  readonly param: string | null;
  readonly errorType: string;
  /** Seconds, for the `Retry-After` header. */
  readonly retryAfter?: number;
  /** Machine-readable details, for APIs that can send them. */
  readonly details?: object;
  /** With error type `context_length_exceeded`, if the gateway counted the tokens itself. */
  readonly tooLong?: PromptTooLong;
}

/** The reader of an error. */
export interface ErrorReader {
  /** Whether the reply contains the cause of an engine's failure, so that the operator need not search the log. */
  readonly isOperator?: boolean;
}

/**
 * Describes an error for the client. An engine's message is passed on only where it concerns the client's request. The
 * rest (hosts, keys, stack traces) belongs in the operator's log.
 */
export function describeError(error: unknown, reader: ErrorReader = {}): ErrorDescription {
  if (error instanceof RequestError) {
    const { status, message, type, param, errorType, details } = error;
    return {
      status,
      message,
      type,
      param,
      errorType,
      ...retryAfter(error),
      ...(details !== undefined && { details }),
    };
  }
  if (error instanceof EngineError) {
    const description = describeEngineError(error);
    return reader.isOperator === true ? withCause(description, error) : description;
  }
  if (error instanceof TurnError) return describeTurnError(error);
  if (error instanceof StoreError) return describeStoreError(error);
  return serverError(500, "The gateway failed to handle this request.", "server");
}

/** Returns an error unchanged, and an error for any other thrown value. */
export function toError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error("unknown", { cause: thrown });
}

/** Rethrows anything but a store failure, which the store has reported already. */
export function ignoreStoreFailure(error: unknown): void {
  if (!(error instanceof StoreError || error instanceof RequestError)) throw error;
}

/**
 * Describes a constraint, such as a schema, that the model did not meet. The turn ended normally, so the description is
 * part of its reply.
 */
export function describeTurnFailure(failure: TurnFailure): ErrorDescription {
  return serverError(502, failure.message, failure.kind);
}

function describeTurnError(error: TurnError): ErrorDescription {
  switch (error.kind) {
    case "context-length":
      return {
        ...badRequest(error.message, "context_length_exceeded"),
        ...(error.tooLong && { tooLong: error.tooLong }),
      };
    case "unsupported":
      return badRequest(error.message, "invalid_request");
    case "hidden-markers":
      return serverError(502, error.message, "provider_unavailable");
    case "shutdown":
      return {
        ...serverError(503, error.message, "shutdown"),
        retryAfter: SHUTDOWN_RETRY_AFTER,
      };
    default:
      return error.kind satisfies never;
  }
}

/** Seconds after which another process may have taken over. */
const SHUTDOWN_RETRY_AFTER = 1;

/** Seconds after which a model may be loaded. */
const LOADING_RETRY_AFTER = 5;

/** Seconds after which a store that failed may answer again. */
const STORE_RETRY_AFTER = 1;

function describeStoreError(error: StoreError): ErrorDescription {
  switch (error.kind) {
    case "unavailable":
      return {
        ...serverError(
          503,
          "The gateway's store is not available, so the response cannot be stored or read. Try again later" +
            ", or set store to false.",
          "store_unavailable",
        ),
        retryAfter: STORE_RETRY_AFTER,
      };
    case "too-large":
      return {
        ...badRequest(
          "The response or conversation is too large for the store. Start a new one, or set store to false.",
          "payload_too_large",
        ),
        status: 413,
      };
    default:
      return error.kind satisfies never;
  }
}

/** Adds the cause to descriptions of engine failures: other descriptions are complete. */
function withCause(
  description: ErrorDescription,
  { operatorMessage }: EngineError,
): ErrorDescription {
  const { status, message } = description;
  if (status < 500 || message.includes(operatorMessage)) return description;
  return { ...description, message: `${message} ${operatorMessage}` };
}

function describeEngineError(error: EngineError): ErrorDescription {
  switch (error.kind) {
    case "context-length":
      return badRequest(
        withServerWords(
          "The prompt, or the prompt with the tokens requested for the answer, exceeds the model's maximum context length",
          error,
        ),
        "context_length_exceeded",
      );
    case "bad-request":
      return badRequest(
        withServerWords("The engine refused the request", error),
        "invalid_request",
      );
    case "rate-limit":
      return rateLimited("The engine is rate limited. Try again later.", error);
    case "tenant-limit":
      return rateLimited(error.message, error);
    case "overloaded":
      return {
        ...serverError(503, "The engine is busy. Try again later.", "provider_overloaded"),
        ...retryAfter(error),
      };
    case "loading":
      return {
        ...serverError(
          503,
          "The model is still being loaded. Try again later.",
          "provider_overloaded",
        ),
        retryAfter: error.retryAfter ?? LOADING_RETRY_AFTER,
      };
    case "timeout":
      return serverError(504, "The engine did not answer in time.", "timeout");
    case "unreachable":
      return serverError(502, "The engine cannot be reached.", "provider_unavailable");
    case "unavailable":
      return {
        ...serverError(503, "No engine is available. Try again later.", "provider_unavailable"),
        ...retryAfter(error),
      };
    case "auth":
      return serverError(
        502,
        "The engine refused the gateway's credentials.",
        "provider_unavailable",
      );
    case "not-found":
      return serverError(502, "The engine does not serve this model.", "provider_unavailable");
    case "closed":
      return serverError(502, "The engine closed the connection early.", "provider_unavailable");
    case "server-error":
      return serverError(502, "The engine failed.", "provider_unavailable");
    default:
      return error.kind satisfies never;
  }
}

function badRequest(message: string, errorType: string): ErrorDescription {
  return { status: 400, message, type: "invalid_request_error", param: null, errorType };
}

function rateLimited(message: string, error: EngineError): ErrorDescription {
  return {
    status: 429,
    message,
    type: "rate_limit_error",
    param: null,
    errorType: "rate_limit_exceeded",
    ...retryAfter(error),
  };
}

function serverError(status: number, message: string, errorType: string): ErrorDescription {
  return { status, message, type: "server_error", param: null, errorType };
}

/** Limit in characters. Servers repeat whole prompts in their errors. */
const MAX_SERVER_WORDS = 300;

/** Quotes only the server's message: the error's message also contains the server's URL, which clients must not see. */
function withServerWords(sentence: string, { serverMessage }: EngineError): string {
  if (serverMessage === undefined) return `${sentence}.`;
  const words =
    serverMessage.length > MAX_SERVER_WORDS
      ? `${serverMessage.slice(0, MAX_SERVER_WORDS)}…`
      : serverMessage;
  return `${sentence}: ${words}`;
}

function retryAfter(error: EngineError | RequestError): { retryAfter?: number } {
  return error.retryAfter === undefined ? {} : { retryAfter: error.retryAfter };
}
