/** Errors in the envelope of Chat Completions: OpenAI's `type` and `param`, and OpenRouter's `metadata.error_type`. */
import { type ErrorCodes, toCodeString } from "../error-codes.ts";
import type { ErrorDescription } from "../errors.ts";
import type { ChatError } from "./reply-schema.ts";

/** The body of an error response, and the `error` member of a chunk in a stream that has begun. */
export function toErrorBody(description: ErrorDescription, codes: ErrorCodes): ChatError {
  const { status, message, type, errorType } = description;
  const param = errorType === "context_length_exceeded" ? "messages" : description.param;
  const code = codes === "integers" ? status : toCodeString(description);
  return { error: { code, message, type, param, metadata: { error_type: errorType } } };
}
