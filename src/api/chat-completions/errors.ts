/**
 * Errors in the envelope of Chat Completions: the integer `code`, OpenAI's `type` and `param`, and OpenRouter's
 * `metadata.error_type` together satisfy the SDKs of both.
 */
import type { ErrorDescription } from "../errors.ts";
import type { ChatError } from "./reply-schema.ts";

/** The body of an error response, and the `error` member of a chunk in a stream that has begun. */
export function toErrorBody(description: ErrorDescription): ChatError {
  const { status, message, type, errorType } = description;
  const param = errorType === "context_length_exceeded" ? "messages" : description.param;
  return {
    error: { code: status, message, type, param, metadata: { error_type: errorType } },
  };
}
