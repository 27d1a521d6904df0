/** Formats errors in Anthropic's envelope. */
import type { ErrorReply } from "../api.ts";
import type { ErrorDescription } from "../errors.ts";

export interface MessagesError {
  readonly type: string;
  readonly message: string;
  /** Machine-readable details. The SDK's threads look for a code here. */
  readonly details?: object;
}

export function toMessagesError(description: ErrorDescription): MessagesError {
  const { details } = description;
  return {
    type: toType(description.status),
    message: toMessage(description),
    ...(details !== undefined && { details }),
  };
}

/** Uses Anthropic's own status if the gateway, the engine or its queue is full: clients show it and retry. */
export function toMessagesErrorReply(description: ErrorDescription, requestId: string): ErrorReply {
  return {
    status: description.status === 503 ? OVERLOADED : description.status,
    body: { type: "error", error: toMessagesError(description), request_id: requestId },
    headers: {
      "request-id": requestId,
      // Claude Code retries an unknown key for minutes before it prompts for another one.
      ...(description.status === 401 && { "x-should-retry": "false" }),
    },
  };
}

const OVERLOADED = 529;

const TYPES: Readonly<Record<number, string>> = {
  400: "invalid_request_error",
  401: "authentication_error",
  403: "permission_error",
  404: "not_found_error",
  405: "invalid_request_error",
  409: "conflict_error",
  413: "request_too_large",
  429: "rate_limit_error",
  503: "overloaded_error",
  504: "timeout_error",
};

function toType(status: number): string {
  return TYPES[status] ?? "api_error";
}

/** Claude Code compacts the conversation, and LangChain throws a specific error, when they read this text. */
function toMessage({ message, errorType, tooLong }: ErrorDescription): string {
  if (errorType !== "context_length_exceeded") return message;
  if (tooLong === undefined) return `prompt is too long: ${message}`;
  return `prompt is too long: ${tooLong.tokens} tokens > ${tooLong.maximum} maximum`;
}
