/**
 * Headers without `<|message|>`: where the header ends and its body begins (rules H7 and H8).
 *
 * Header and body are one text here, and most of the body is prose. Only what certainly is a header
 * word counts as one; what stands behind it is the body, for a call from the first bracket on.
 */
import { toCall, toMeaning, toOtherMeaning } from "./header.ts";
import type { Meaning } from "./header.ts";
import { readRole, toPieces } from "./header-words.ts";
import type { Header, Piece } from "./header-words.ts";
import { findName, readRecipient } from "./recipient.ts";
import type { FunctionRecipient, OfferedNames } from "./recipient.ts";
import type { Recovery } from "./recoveries.ts";

export interface CutHeaderReading {
  /** Absent when no header word was found: this is text outside messages. */
  readonly meaning: Meaning | undefined;
  /** The beginning of the body; empty when there is nothing but a header. */
  readonly body: string;
  readonly recoveries: readonly Recovery[];
}

/** Reads a header that ended without `<|message|>`, and finds where its body begins. */
export function readCutHeader(header: Header, offered: OfferedNames): CutHeaderReading {
  const recoveries: Recovery[] = [];
  const role = readRole(header, false, offered);
  recoveries.push(...role.recoveries);
  if (role.author !== "assistant") {
    return { meaning: toOtherMeaning(role.author), body: "", recoveries };
  }

  const pieces = toPieces(header, role, false, offered);
  const call = findCutCall(pieces, offered);
  if (call !== undefined) {
    if (call.recipient.isOdd) recoveries.push("odd-recipient");
    return { meaning: toCall(call.recipient, offered, recoveries), body: call.body, recoveries };
  }

  const last = pieces.findLastIndex(({ channel }) => channel !== undefined);
  const word = pieces[last]?.channel;
  if (word !== undefined) {
    const body = bodyFrom(pieces, last);
    // `commentary?commentary?We need …`: a header that broke while thinking, not a preamble.
    // `commentary 42`: a number alone is none either.
    const isGarbled =
      /^[?!.,;:\u2026\uFFFD]/.test(pieces[last]?.text ?? "") ||
      (word.channel === "commentary" && !/\p{L}/u.test(body));
    if (isGarbled && body.trim() !== "" && word.channel !== "final") {
      recoveries.push("garbled-header");
      return { meaning: { kind: "reasoning" }, body: withoutGarble(body), recoveries };
    }
    if (word.isOdd) recoveries.push("odd-channel");
    return { meaning: toMeaning(word.channel), body, recoveries };
  }

  const unknown = pieces.findLastIndex(({ after }) => after === "channel");
  if (unknown >= 0) {
    const body = bodyFrom(pieces, unknown);
    recoveries.push("garbled-header");
    // One word is a channel nobody knows or half a name; several may be a thought.
    return { meaning: { kind: "reasoning" }, body: /\S\s+\S/.test(body) ? body : "", recoveries };
  }
  return { meaning: undefined, body: bodyFrom(pieces, 0), recoveries };
}

/**
 * Whether what looks like a body is the beginning of a header word, where the output was cut:
 * `<|channel|>commentary to` is no preamble.
 */
export function isHalfHeaderWord(text: string): boolean {
  return ["to=", "json", "code"].some((word) => word.startsWith(text.trim()));
}

/** The same where a role is expected: `assist`, ` to`, ` to=functions`. One letter alone may well be an answer. */
export function isHalfRole(text: string): boolean {
  if (/^\s*to\s*=\s*[\w.-]*$/.test(text)) return true;
  return text.length > 1 && ["assistant", " to="].some((word) => word.startsWith(text));
}

const CONTENT_TYPE = "(?:\\s*(?:json|code))*";
/** `to=` as the next header word, not in the middle of a sentence. */
const TO_AT_ONCE = new RegExp(
  `^[^\\p{L}\\p{N}]*(?:analysis|commentary|final)?${CONTENT_TYPE}\\s*to\\s*=`,
  "iu",
);

function findCutCall(
  pieces: readonly Piece[],
  offered: OfferedNames,
): { recipient: FunctionRecipient; body: string } | undefined {
  for (const [index, { text, after }] of pieces.entries()) {
    const head = upToBracket(text);
    const to = TO_AT_ONCE.exec(head)?.[0];
    if (to !== undefined) {
      const recipient = readRecipient(head.slice(to.length), offered);
      if (recipient.type === "function") return { recipient, body: bracketFrom(pieces, index) };
    } else if (after !== "constrain") {
      const name = findNameAlone(head, offered);
      const body = name === undefined ? "" : bracketFrom(pieces, index);
      if (name !== undefined && body !== "") {
        return { recipient: { type: "function", name, isOdd: true, isBuiltIn: false }, body };
      }
    }
  }
  return undefined;
}

/** A function's name with nothing beside it but a content type. */
function findNameAlone(head: string, offered: OfferedNames): string | undefined {
  const words = head.replace(new RegExp(`${CONTENT_TYPE}\\s*$`, "i"), "").trim();
  const name = findName(words, offered);
  return name !== undefined && (words === name || words === `functions.${name}`) ? name : undefined;
}

function upToBracket(text: string): string {
  const bracket = text.search(/[{[]/);
  return bracket < 0 ? text : text.slice(0, bracket);
}

/** Everything from the first bracket on: the arguments of a call. */
function bracketFrom(pieces: readonly Piece[], from: number): string {
  for (let index = from; index < pieces.length; index++) {
    const text = pieces[index]?.text ?? "";
    const bracket = text.search(/[{[]/);
    if (bracket >= 0) return text.slice(bracket) + wholeFrom(pieces, index + 1);
  }
  return "";
}

/** Everything behind the header words of this piece and of those that follow. */
function bodyFrom(pieces: readonly Piece[], from: number): string {
  for (let index = from; index < pieces.length; index++) {
    const piece = pieces[index];
    if (piece === undefined) break;
    const isUntouched = piece.after === "start" && piece.text === piece.whole;
    const body = isUntouched ? piece.text : withoutHeaderWords(piece);
    if (body.trim() !== "") return body + wholeFrom(pieces, index + 1);
  }
  return "";
}

function wholeFrom(pieces: readonly Piece[], from: number): string {
  return pieces
    .slice(from)
    .map(({ whole }) => whole)
    .join("");
}

function withoutHeaderWords({ after, text }: Piece): string {
  const words = text.replace(/^\s*to\s*=\s*(?:assistant|all|user)(?![\p{L}\p{N}_.-])/iu, "");
  // Behind `<|constrain|>` a word is a content type, elsewhere only before JSON or at the end.
  const type =
    after === "constrain"
      ? /^(?:\s*(?:json|code)|\s*[\w-]+(?=\s*(?:[{[]|$)))+/i
      : /^(?:\s*(?:json|code))+(?=\s*(?:[{[]|$))/i;
  return words.replace(type, "").trimStart();
}

function withoutGarble(body: string): string {
  const words = body.replace(/^(?:[?!.,;:\u2026\uFFFD\s]|analysis|commentary|final)+/i, "");
  return /\p{L}/u.test(words) ? words : "";
}
