/** Parses a whole transcript, as ids or text, to a conversation. */
import type { TokenId } from "../tokenizer/index.ts";
import type { Message, Role } from "./conversation.ts";
import { readParts } from "./read-parts.ts";
import { TranscriptError } from "./transcript-error.ts";
import type { MessageEnd, TranscriptMessage } from "./transcript-message.ts";
import {
  createTranscriptParser,
  type TranscriptOptions,
  type TranscriptProblem,
} from "./transcript-parser.ts";

export interface ParsedConversation {
  /** The messages. System and developer messages have parts if their text equals the renderer's output. */
  readonly messages: readonly Message[];
  /** The end of each message. */
  readonly ends: readonly MessageEnd[];
  readonly problems: readonly TranscriptProblem[];
  /** The header still open at the end, as in a prompt. Lenient mode only. */
  readonly opened?: Role;
}

/**
 * Parses a whole transcript. In text every spelled marker is a marker; in ids only special ids are. Throws a
 * {@link TranscriptError} in strict and lax mode.
 *
 * @example
 * ```ts
 * import { parseConversation } from "harmony-gateway/harmony";
 *
 * const { messages } = parseConversation("<|start|>user<|message|>Hi<|end|>", { mode: "lenient" });
 * messages; // => [{ role: "user", content: "Hi" }]
 * ```
 */
export function parseConversation(
  transcript: string | readonly TokenId[],
  options: TranscriptOptions = {},
): ParsedConversation {
  const parser = createTranscriptParser(options);
  const messages: TranscriptMessage[] = [];
  try {
    const isText = typeof transcript === "string";
    messages.push(...(isText ? parser.pushText(transcript) : parser.pushIds(transcript)));
    messages.push(...parser.end());
  } catch (error) {
    if (!(error instanceof TranscriptError)) throw error;
    const { code, message, at } = error;
    throw new TranscriptError(code, message, { at, messages: [...messages, ...error.messages] });
  }
  const { opened } = parser;
  return {
    messages: readParts(messages.map(({ message }) => message)),
    ends: messages.map(({ end }) => end),
    problems: parser.problems,
    ...(opened !== undefined && { opened }),
  };
}
