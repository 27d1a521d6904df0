/** Errors in the envelope of the Responses API: `code` is a word or null, and all four keys are always present. */
import { type ErrorCodes, toCodeString } from "../error-codes.ts";
import type { ErrorDescription } from "../errors.ts";

export interface ResponsesError {
  readonly message: string;
  readonly type: string;
  readonly param: string | null;
  readonly code: string | null;
}

export function toResponsesError(description: ErrorDescription): ResponsesError {
  const { message, param, errorType, retryAfter } = description;
  return {
    // Codex reads the delay from the message.
    message:
      retryAfter === undefined
        ? message
        : `${message} Please try again in ${Math.ceil(retryAfter)}s.`,
    type: toType(description),
    param: errorType === "context_length_exceeded" ? "input" : param,
    code: toCode(description),
  };
}

/** The `error` of a response with an error status. Events have string codes in both dialects, as at OpenRouter. */
export function toErrorMember(description: ErrorDescription, codes: ErrorCodes): object {
  const error = toResponsesError(description);
  if (codes === "strings") return error;
  const metadata = { error_type: description.errorType };
  return { ...error, code: description.status, metadata };
}

/**
 * The members of an `error` event. OpenAI's clients read the members beside `type`, Open Responses' clients the members
 * of `error`; the AI SDK reads either.
 */
export function toErrorMembers({ message, type, param, code }: ResponsesError) {
  return { code, message, param, error: { type, code, message, param } };
}

/** Maps to Open Responses' names, except for a 400: its own example and every SDK call it `invalid_request_error`. */
function toType({ status, type, errorType }: ErrorDescription): string {
  if (MODEL_FAILURES.has(errorType)) return "model_error";
  if (status === 404) return "not_found";
  if (status === 429) return "too_many_requests";
  return type;
}

const MODEL_FAILURES: ReadonlySet<string> = new Set(["invalid_answer", "invalid_tool_call"]);

/** Codes of error types that differ in this API. */
const CODES: Readonly<Record<string, string | null>> = {
  invalid_request: null,
  invalid_answer: "model_error",
  invalid_tool_call: "model_error",
  provider_overloaded: "server_error",
  provider_unavailable: "server_error",
  timeout: "server_error",
  server: "server_error",
  shutdown: "server_error",
  store_unavailable: "server_error",
};

function toCode(description: ErrorDescription): string | null {
  const code = CODES[description.errorType];
  return code === undefined ? toCodeString(description) : code;
}
