/**
 * `error.code` in the two dialects of OpenAI-compatible clients. OpenAI's clients read a string or null: those in Java
 * and Rust fail on a number. OpenRouter's clients read an integer, and their base URL ends in `/api/v1`.
 */
import type { ErrorDescription } from "./errors.ts";

export type ErrorCodes = "strings" | "integers";

export function errorCodesAt(path: string): ErrorCodes {
  return path.startsWith("/api/v1/") ? "integers" : "strings";
}

/** OpenAI's code for the error if there is one, otherwise the error type. */
export function toCodeString({ errorType }: ErrorDescription): string {
  return OPENAI_CODES[errorType] ?? errorType;
}

const OPENAI_CODES: Readonly<Record<string, string>> = {
  authentication: "invalid_api_key",
  not_found: "unknown_url",
};
