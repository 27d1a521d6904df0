/** Reads a transcript from one line of JSON. */
import * as z from "zod";
import { chatRequest } from "../../../api/chat-completions/request.ts";
import { toConversation } from "../../../api/chat-completions/to-turn.ts";
import { RequestError } from "../../../api/errors.ts";
import { toMediaRules } from "../../../api/request/content-text.ts";
import { parseWith } from "../../../api/request/parse-request.ts";
import type { CollectedHistory } from "../../../api/turn/prompt-history.ts";
import type { SystemOptions } from "../../../harmony/messages.ts";
import { readParts } from "../../../harmony/read-parts.ts";
import { parseConversation, type ParsedConversation } from "../../../harmony/transcript.ts";
import { OpenChatMLError, parseOpenChatML, toHarmony } from "../../../openchatml/index.ts";
import type { ParsedDocument } from "../../../openchatml/index.ts";
import { isMessagesRequest, requestConversation } from "../captured-request.ts";
import { type Format, LineError, type Mode, type Transcript } from "./transcript.ts";

export interface ReadOptions {
  readonly from: Format;
  readonly mode: Mode;
  /** Accept slightly malformed input, and report it as a loss. */
  readonly lenient: boolean;
  readonly system: Omit<SystemOptions, "effort">;
}

/** Throws a {@link LineError}. */
export function readLine(line: string, options: ReadOptions): Transcript {
  const value = parseJson(line);
  switch (options.from) {
    case "chat":
      return readChat(line, value, options);
    case "harmony":
      return readHarmony(value, options);
    case "openchatml":
      return readOpenChatML(value, options);
    default:
      return options.from satisfies never;
  }
}

/** The document of a line, to be written as a document again. */
export function readDocument(line: string, lenient: boolean): ParsedDocument {
  return parseDocument(parseJson(line), lenient);
}

function parseJson(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch (error) {
    throw new LineError("E-JSON", error instanceof Error ? error.message : String(error));
  }
}

function readChat(line: string, value: unknown, options: ReadOptions): Transcript {
  try {
    if (Array.isArray(value))
      return readChatRequest(`{"messages":${line}}`, { messages: value }, options);
    const isRequest = typeof value === "object" && value !== null && "messages" in value;
    if (isRequest && !isMessagesRequest(value)) return readChatRequest(line, value, options);
    return fromRequest(requestConversation(line, options.system));
  } catch (error) {
    if (error instanceof RequestError) throw new LineError("E-REQUEST", error.message);
    throw error;
  }
}

function readChatRequest(
  bodyText: string,
  value: unknown,
  { system, lenient }: ReadOptions,
): Transcript {
  const request = parseWith(chatRequest, value);
  const conversation = toConversation(request, {
    turnId: "convert",
    tenant: "convert",
    bodyText,
    restored: new Map(),
    mediaRules: toMediaRules("refuse", "refuse"),
    system,
  });
  const transcript = fromRequest(conversation);
  if (!isPartial(value)) return transcript;
  if (!lenient) throw new LineError("E-REQUEST", "the last message is partial");
  const { messages, losses } = transcript;
  return { ...transcript, cut: new Set([messages.length - 1]), losses: [...losses, "missing-end"] };
}

/** Whether the last message has the member `partial: true`, which marks an open message. */
function isPartial(value: unknown): boolean {
  const messages = member(value, "messages");
  return Array.isArray(messages) && member(messages.at(-1), "partial") === true;
}

function fromRequest({ messages, callIds, changes }: CollectedHistory): Transcript {
  return { messages, callIds, cut: new Set(), losses: [...changes] };
}

const ids = z.array(z.int());

/** Reads text or ids, alone or in an object with the field names of trainers and rollouts. */
function readHarmony(value: unknown, { lenient, mode }: ReadOptions): Transcript {
  const text = member(value, "text") ?? value;
  const numbers =
    member(value, "input_ids") ?? member(value, "token_ids") ?? member(value, "ids") ?? value;
  if (typeof text === "string") return toTranscript(text, lenient, mode);
  const parsed = ids.safeParse(numbers);
  if (parsed.success) return toTranscript(parsed.data, lenient, mode);
  throw new LineError(
    "E-LINE",
    'expected Harmony as {"text": …}, {"input_ids": […]} or either alone',
  );
}

function toTranscript(
  transcript: string | readonly number[],
  lenient: boolean,
  mode: Mode,
): Transcript {
  const parsed = parseConversation(transcript, { mode: "lenient" });
  const { messages, problems } = parsed;
  const [problem] = problems;
  if (problem !== undefined && !lenient) {
    const place = typeof transcript === "string" ? "character" : "token";
    throw new LineError("E-HARMONY", `${problem.code} at ${place} ${problem.at}`);
  }
  const losses: string[] = problems.map(({ code }) => code);
  if (losesReturn(parsed, mode)) losses.push("return");
  const cut = parsed.ends.flatMap((end, index) => (end === "cut" ? [index] : []));
  return { messages, callIds: [], cut: new Set(cut), losses };
}

/** In mode `training`, the final `<|return|>` is written again. */
function losesReturn({ ends, messages }: ParsedConversation, mode: Mode): boolean {
  const last = messages.length - 1;
  return ends.some((end, index) => {
    const isWritten = mode === "training" && index === last && messages[index]?.channel === "final";
    return end === "return" && !isWritten;
  });
}

function readOpenChatML(value: unknown, { lenient, mode }: ReadOptions): Transcript {
  const document = parseDocument(value, lenient);
  const { messages, callIds, lossy } = toHarmony(document, {
    mode: mode === "prompt" ? "prompt" : "verbatim",
  });
  const last = document.messages.at(-1);
  const isOnlyLast = document.messages.every((each) => each === last || each.end !== "return");
  const isWritten = mode === "training" && last?.channel === "final" && isOnlyLast;
  return {
    messages: readParts(messages),
    callIds,
    cut: new Set(),
    losses: lossy.filter((loss) => loss !== "return" || !isWritten),
  };
}

function parseDocument(value: unknown, lenient: boolean): ParsedDocument {
  const text = member(value, "text") ?? value;
  if (typeof text !== "string") {
    throw new LineError("E-LINE", 'expected OpenChatML as {"text": …}, or as a text alone');
  }
  try {
    return parseOpenChatML(text, { lenient });
  } catch (error) {
    if (error instanceof OpenChatMLError) throw new LineError(error.code, error.message);
    throw error;
  }
}

function member(value: unknown, key: string): unknown {
  if (typeof value !== "object" || value === null) return undefined;
  return Object.entries(value).find(([name]) => name === key)?.[1];
}
