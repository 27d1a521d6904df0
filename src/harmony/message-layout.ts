/**
 * The layout of the parts of a message, before they are encoded:
 *
 *     <|start|>{author}{ to=recipient}{<|channel|>channel}{ content-type}<|message|>{body}<|end|>
 *
 * Names, schemas, tool results and user text are ordinary text, whatever they contain.
 */
import { contentParts, partText } from "./body.ts";
import type { Message, Role } from "./conversation.ts";
import { type Piece, specialPiece } from "./pieces.ts";
import { HarmonyRenderError } from "./render-error.ts";
import { CALL, CHANNEL, CONSTRAIN, END, MESSAGE, START } from "./tokens.ts";

/**
 * The position of recipients and the form of content types.
 *
 * - `reference`: recipients before the channel, as in openai/harmony: ` to=functions.f<|channel|>commentary json`.
 * - `guide`: recipients after the channel in the assistant's messages, `<|channel|>commentary to=functions.f json`,
 *   which is the model's own form of nearly all calls, and before it in results. The examples of OpenAI's guide to
 *   Harmony have this layout.
 * - `channel-first`: recipients after the channel on `commentary`, and every content type with a marker, as in
 *   oss-harmony 0.0.11: `<|channel|>commentary to=functions.f <|constrain|>json`.
 */
export type Layout = "guide" | "reference" | "channel-first";

/** A message that the model continues. */
export interface Opening extends Pick<
  Message,
  "recipient" | "channel" | "contentType" | "order" | "isJoined"
> {
  /** The beginning of the body. */
  readonly text?: string;
}

/** A segment before it is encoded: text, and special tokens. */
export interface Draft {
  readonly parts: readonly (string | Piece)[];
  readonly message?: Message;
}

const PIECES = {
  start: specialPiece(START),
  channel: specialPiece(CHANNEL),
  constrain: specialPiece(CONSTRAIN),
  message: specialPiece(MESSAGE),
  end: specialPiece(END),
  call: specialPiece(CALL),
};

export function layOutMessage(message: Message, layout: Layout, hasFunctions: boolean): Draft {
  const out = new Writer();
  out.special(PIECES.start);
  writeAuthor(out, message);
  writeHeader(out, message, toOrder(message, layout));
  for (const part of contentParts(message)) {
    out.text(partText(part, message.role, hasFunctions));
  }
  out.special(terminator(message));
  return { parts: out.parts, message };
}

export function layOutStart(role: Role): Draft {
  return { parts: [PIECES.start, role] };
}

export function layOutOpening(opening: Opening, layout: Layout): Draft {
  const out = new Writer();
  writeHeader(out, opening, toOrder({ role: "assistant", ...opening }, layout));
  out.text(opening.text ?? "");
  return out;
}

class Writer {
  readonly parts: (string | Piece)[] = [];

  special(piece: Piece): void {
    this.parts.push(piece);
  }

  text(text: string): void {
    if (text !== "") this.parts.push(text);
  }
}

/** The role and a name; for a tool only the name. */
function writeAuthor(out: Writer, { role, name }: Message): void {
  if (role !== "tool") {
    out.text(role);
    if (name !== undefined) out.text(`:${name}`);
  } else if (name === undefined) {
    throw new HarmonyRenderError("tool-without-name", "A tool message needs the name of its tool");
  } else {
    out.text(name);
  }
}

/** The order of the fields in a header. */
interface Order {
  readonly isChannelFirst: boolean;
  /** Every content type has a marker. */
  readonly isMarked: boolean;
}

function toOrder(
  { role, channel, order }: Pick<Message, "role" | "channel" | "order">,
  layout: Layout,
): Order {
  if (order !== undefined) return { isChannelFirst: order === "channel-first", isMarked: false };
  switch (layout) {
    case "reference":
      return { isChannelFirst: false, isMarked: false };
    case "guide":
      return { isChannelFirst: role === "assistant", isMarked: false };
    case "channel-first":
      return { isChannelFirst: channel === "commentary", isMarked: true };
    default:
      return layout satisfies never;
  }
}

/** Writes the header from after the author to `<|message|>`. */
function writeHeader(out: Writer, header: Opening, { isChannelFirst, isMarked }: Order): void {
  const { recipient, channel, contentType, order, isJoined } = header;
  const to = recipient === undefined || recipient === "all" ? "" : ` to=${recipient}`;
  if (!isChannelFirst) out.text(to);
  if (channel !== undefined) {
    out.special(PIECES.channel);
    out.text(channel);
  }
  if (isChannelFirst) out.text(to);
  const space = order !== undefined && isJoined ? "" : " ";
  if (contentType !== undefined) writeContentType(out, contentType, { isMarked, space });
  out.special(PIECES.message);
}

/**
 * The only marker that a caller may spell: `<|constrain|>` at the very beginning becomes the special id. `isMarked`:
 * the id is always written.
 */
function writeContentType(
  out: Writer,
  contentType: string,
  { isMarked, space }: { readonly isMarked: boolean; readonly space: string },
): void {
  const marker = PIECES.constrain.text;
  const marked = contentType.startsWith(marker);
  if (marked || isMarked) {
    out.text(space);
    out.special(PIECES.constrain);
    out.text(marked ? contentType.slice(marker.length) : contentType);
  } else {
    out.text(` ${contentType}`);
  }
}

/**
 * The closing token. Any recipient makes an assistant message a call, even `all`, which is not written, and the empty
 * string.
 */
function terminator({ role, recipient }: Message): Piece {
  return role === "assistant" && recipient !== undefined ? PIECES.call : PIECES.end;
}
