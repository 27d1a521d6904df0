/** The error for a transcript that cannot be parsed further, in strict and lax mode. */
import type { TranscriptMessage } from "./transcript-message.ts";
import type { HeaderErrorCode } from "./transcript-header.ts";

export type TranscriptErrorCode = HeaderErrorCode | "unexpected_token" | "eos_in_header";

/**
 * The transcript cannot be parsed further.
 *
 * @example
 * ```ts
 * import { parseConversation, TranscriptError } from "harmony-gateway/harmony";
 *
 * let code;
 * try {
 *   parseConversation("<|start|>user");
 * } catch (error) {
 *   if (error instanceof TranscriptError) code = error.code;
 * }
 * code; // => "eos_in_header"
 * ```
 */
export class TranscriptError extends Error {
  readonly code: TranscriptErrorCode;
  /** Index of the token, or of the UTF-16 code unit in text. At the end of the input: its length. */
  readonly at: number;
  /** Messages completed before the error and not yet returned. */
  readonly messages: readonly TranscriptMessage[];

  constructor(
    code: TranscriptErrorCode,
    message: string,
    { at, messages }: { readonly at: number; readonly messages: readonly TranscriptMessage[] },
  ) {
    super(message);
    this.name = "TranscriptError";
    this.code = code;
    this.at = at;
    this.messages = messages;
  }
}
