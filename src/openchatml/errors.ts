/** Errors and warnings about an OpenChatML document, with the codes of the specification. */

export type ErrorCode =
  /** The document header, a frame's header, or the structure around them. */
  | "E-PARSE-HEADER"
  /** HIP-1 is on, and an assistant or tool frame has no channel. */
  | "E-PARSE-CHANNEL-MISSING"
  /** A constrained body is not of its type. */
  | "E-BODY-CONSTRAINT-VIOLATION"
  /** The arguments of a call are missing, not an object, or do not fit the tool's schema. */
  | "E-CALL-SCHEMA"
  /** The input ends inside a header, a body or a literal block; for a stream, also before its stop token. */
  | "E-STREAM-TRUNCATED"
  /** A hidden channel was requested without opting in. */
  | "E-PERM-VISIBILITY";

export interface ErrorPlace {
  /** Offset in UTF-8 bytes. Absent if no text was read. */
  readonly offset?: number;
  /** The index of the message, counted from 0. */
  readonly messageIndex?: number;
}

/**
 * Thrown if a document cannot be read or written.
 *
 * @example
 * ```ts
 * import { OpenChatMLError, parseOpenChatML } from "harmony-gateway/openchatml";
 *
 * let code;
 * try {
 *   parseOpenChatML("<|start|>user<|message|>Hi");
 * } catch (error) {
 *   if (error instanceof OpenChatMLError) code = error.code;
 * }
 * code; // => "E-STREAM-TRUNCATED"
 * ```
 */
export class OpenChatMLError extends Error {
  readonly code: ErrorCode;
  readonly offset: number | undefined;
  readonly messageIndex: number | undefined;

  constructor(code: ErrorCode, problem: string, { offset, messageIndex }: ErrorPlace = {}) {
    const places = [
      messageIndex === undefined ? "" : `message ${messageIndex}`,
      offset === undefined ? "" : `byte ${offset}`,
    ].filter((place) => place !== "");
    super(`${code}${places.length > 0 ? ` (${places.join(", ")})` : ""}: ${problem}`);
    this.name = "OpenChatMLError";
    this.code = code;
    this.offset = offset;
    this.messageIndex = messageIndex;
  }
}

export type WarningCode =
  | "W-NO-HEADER"
  | "W-NEWER-VERSION"
  /** The document uses ChatML frames. */
  | "W-CHATML"
  | "W-UNKNOWN-ATTRIBUTE"
  | "W-UNKNOWN-INTENT"
  /** The content type and the constraint differ. */
  | "W-CONTENT-TYPE"
  /** A call that does not end with `<|call|>`. */
  | "W-CALL-TERMINATOR"
  /** `<|return|>` on something other than an assistant's final message. */
  | "W-RETURN-CHANNEL"
  /** A reply to a call that is not in the document. */
  | "W-UNMATCHED-REPLY"
  /** The reply names another function than the call. */
  | "W-REPLY-NAME";

/** A deviation that does not prevent reading. */
export interface Warning {
  readonly code: WarningCode;
  readonly offset: number;
  readonly messageIndex: number;
}
