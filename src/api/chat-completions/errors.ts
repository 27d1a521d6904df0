/**
 * Errors in the envelope of Chat Completions: the integer `code`, OpenAI's `type` and `param`, and OpenRouter's
 * `metadata.error_type` together satisfy the SDKs of both.
 */
import type { ErrorDescription, ErrorType } from "../errors.ts";

/** The body of an error response, and the `error` member of a chunk in a stream that has begun. */
export function toErrorBody(description: ErrorDescription): {
  error: {
    code: number;
    message: string;
    type: ErrorType;
    param: string | null;
    metadata: { error_type: string };
  };
} {
  const { status, message, type, errorType } = description;
  const param = errorType === "context_length_exceeded" ? "messages" : description.param;
  return {
    error: { code: status, message, type, param, metadata: { error_type: errorType } },
  };
}
