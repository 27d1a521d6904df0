/**
 * Reads the ids of one message of the assistant, from `<|start|>` to the token that ends it, strictly: ids from a store are not
 * trusted.
 */
import {
  FIRST_SPECIAL_ID,
  isSpecial,
  o200kHarmony,
  type TokenId,
  type Tokenizer,
} from "../tokenizer/index.ts";
import { formOf, toPartHeader, type WrittenSection } from "./call-form.ts";
import type { Message } from "./conversation.ts";
import { Piece, specialPiece } from "./pieces.ts";
import { CALL, CHANNEL, CONSTRAIN, END, MESSAGE, START } from "./tokens.ts";
import { readWrittenHeader, type TranscriptHeader } from "./transcript-header.ts";

export interface ReadSpan {
  readonly message: Message;
  readonly pieces: readonly Piece[];
}

const ASSISTANT = "assistant";

/**
 * Undefined: the ids are not one such message, but for example a message of another role, two messages, a control token
 * within the body, or an id that gpt-oss does not have.
 */
export function readSpan(
  ids: readonly TokenId[],
  tokenizer: Tokenizer = o200kHarmony(),
): ReadSpan | undefined {
  const head = readHead(ids, tokenizer);
  if (head === undefined) return undefined;
  const run = ids.slice(head.body, -1);
  const content = tokenizer.decode(run);
  const pieces = [...head.pieces];
  if (content !== "") pieces.push(new Piece(content, run, false));
  pieces.push(specialPiece(head.closer));
  return { message: { ...head.header, content }, pieces };
}

/**
 * Whether a message that the parser read without a repair may be restored by its ids: {@link readSpan} reads it, and it
 * is a thought, a preamble, or a call whose header has a known form. The body is not decoded.
 */
export function isReplayable(ids: readonly TokenId[], tokenizer: Tokenizer): boolean {
  const head = readHead(ids, tokenizer);
  if (head === undefined) return false;
  const { recipient, channel } = head.header;
  if (recipient === undefined) return channel === "analysis" || channel === "commentary";
  return formOf(toPartHeader(head.sections)) !== undefined;
}

/**
 * Whether the message is on `analysis` and has no text: the parser emits no part for it, and histories do not contain
 * it.
 */
export function isEmptyThought({ message }: ReadSpan): boolean {
  const { channel, recipient, content } = message;
  return channel === "analysis" && recipient === undefined && content === "";
}

interface SpanHead {
  readonly header: TranscriptHeader;
  readonly sections: readonly WrittenSection[];
  readonly pieces: readonly Piece[];
  /** Index of the first id after `<|message|>`. */
  readonly body: number;
  readonly closer: TokenId;
}

function readHead(ids: readonly TokenId[], tokenizer: Tokenizer): SpanHead | undefined {
  const end = ids.length - 1;
  const body = ids.indexOf(MESSAGE) + 1;
  const closer = ids[end];
  if (ids[0] !== START || body === 0 || end < body) return undefined;
  if (decode(ids.slice(1, 2), tokenizer) !== ASSISTANT) return undefined;
  if (closer !== END && closer !== CALL) return undefined;
  for (let at = body; at < end; at++) if (!isOrdinary(ids[at])) return undefined;

  const pieces: Piece[] = [specialPiece(START)];
  const sections: WrittenSection[] = [];
  let after: WrittenSection["after"] = "start";
  let from = 1;
  for (let at = 1; at < body; at++) {
    const id = ids[at];
    if (id === undefined || !isSpecial(id)) continue;
    if (id !== CHANNEL && id !== CONSTRAIN && id !== MESSAGE) return undefined;
    const run = ids.slice(from, at);
    const text = decode(run, tokenizer);
    if (text === undefined) return undefined;
    sections.push({ after, text });
    pieces.push(...toHeaderPieces(run, text, after), specialPiece(id));
    after = id === CHANNEL ? "channel" : "constrain";
    from = at + 1;
  }
  const [author] = sections;
  if (author === undefined) return undefined;
  if (author.text !== ASSISTANT && !author.text.startsWith(`${ASSISTANT} to=`)) return undefined;
  const header = readWrittenHeader(sections, undefined);
  if (header.role !== ASSISTANT || header.name !== undefined) return undefined;
  if ((closer === CALL) !== (header.recipient !== undefined)) return undefined;
  return { header, sections, pieces, body, closer };
}

/** Undefined: an id is special, or not in the vocabulary. */
function decode(ids: readonly TokenId[], tokenizer: Tokenizer): string | undefined {
  return ids.every(isOrdinary) ? tokenizer.decode(ids) : undefined;
}

function isOrdinary(id: TokenId | undefined): boolean {
  return id !== undefined && Number.isInteger(id) && id >= 0 && id < FIRST_SPECIAL_ID;
}

/** The pieces of a header. The author is a separate piece, as in the renderer's output. */
function toHeaderPieces(
  ids: readonly TokenId[],
  text: string,
  after: WrittenSection["after"],
): Piece[] {
  if (ids.length === 0) return [];
  if (after !== "start" || ids.length === 1) return [new Piece(text, ids, false)];
  const rest = text.slice(ASSISTANT.length);
  return [new Piece(ASSISTANT, ids.slice(0, 1), false), new Piece(rest, ids.slice(1), false)];
}
