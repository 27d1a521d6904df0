/**
 * Reads headers without `<|message|>` and finds where the body begins (rules H7 and H8).
 *
 * Header and body are one text here, and most of the body is prose, so only unambiguous header words are recognized.
 * The text after them is the body; for a call, the text from the first bracket on.
 */
import { isCallable, toCall, toMeaning, toOtherMeaning } from "./header.ts";
import type { Meaning } from "./header.ts";
import { readRole, readSections } from "./header-words.ts";
import type { Header, ReadSection } from "./header-words.ts";
import { findName, readRecipient } from "./recipient.ts";
import type { OfferedNames } from "./offered-names.ts";
import type { SystemToolRecipient, FunctionRecipient } from "./recipient.ts";
import type { Recovery } from "./recoveries.ts";

interface CutHeaderReading {
  /** Undefined if no header word was found: the text is outside messages. */
  readonly meaning: Meaning | undefined;
  /** The beginning of the body. Empty if there is only a header. */
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

  const sections = readSections(header, role, false, offered);
  const call = findCutCall(sections, offered);
  if (call !== undefined) {
    if (call.recipient.isOdd) recoveries.push("odd-recipient");
    return { meaning: toCall(call.recipient, offered, recoveries), body: call.body, recoveries };
  }

  const last = sections.findLastIndex(({ channel }) => channel !== undefined);
  const word = sections[last]?.channel;
  if (word !== undefined) {
    const body = bodyFrom(sections, last);
    // `commentary?commentary?We need …` is a broken header followed by reasoning, not a preamble.
    // `commentary 42`: a number alone is not a preamble either.
    const isGarbled =
      /^[?!.,;:\u2026\uFFFD]/.test(sections[last]?.text ?? "") ||
      (word.channel === "commentary" && !/\p{L}/u.test(body));
    if (isGarbled && body.trim() !== "" && word.channel !== "final") {
      recoveries.push("garbled-header");
      return { meaning: { kind: "reasoning" }, body: withoutGarble(body), recoveries };
    }
    if (word.isOdd) recoveries.push("odd-channel");
    return { meaning: toMeaning(word.channel), body, recoveries };
  }

  const unknown = sections.findLastIndex(({ after }) => after === "channel");
  if (unknown >= 0) {
    const body = bodyFrom(sections, unknown);
    recoveries.push("garbled-header");
    // One word is an unknown channel or half a name. Several may be reasoning.
    return { meaning: { kind: "reasoning" }, body: /\S\s+\S/.test(body) ? body : "", recoveries };
  }
  return { meaning: undefined, body: bodyFrom(sections, 0), recoveries };
}

/**
 * Whether apparent body text is the beginning of a header word, because the output was cut off:
 * `<|channel|>commentary to` has no body.
 */
export function isHalfHeaderWord(text: string): boolean {
  return ["to=", "json", "code"].some((word) => word.startsWith(text.trim()));
}

/** Like {@link isHalfHeaderWord}, for a role: `assist`, ` to`, ` to=functions`. A single letter may be an answer. */
export function isHalfRole(text: string): boolean {
  if (/^\s*to\s*=\s*[\w.-]*$/.test(text)) return true;
  return text.length > 1 && ["assistant", " to="].some((word) => word.startsWith(text));
}

const CONTENT_TYPE = "(?:\\s*(?:json|code))*";
const ENDING_CONTENT_TYPE = new RegExp(`${CONTENT_TYPE}\\s*$`, "i");
/** `to=` as the next header word, not in the middle of a sentence. */
const TO_AT_ONCE = new RegExp(
  `^[^\\p{L}\\p{N}]*(?:analysis|commentary|final)?${CONTENT_TYPE}\\s*to\\s*=`,
  "iu",
);

function findCutCall(
  sections: readonly ReadSection[],
  offered: OfferedNames,
): { recipient: FunctionRecipient | SystemToolRecipient; body: string } | undefined {
  for (const [index, { text, after }] of sections.entries()) {
    const head = upToBracket(text);
    const to = TO_AT_ONCE.exec(head)?.[0];
    if (to !== undefined) {
      const recipient = readRecipient(head.slice(to.length), offered);
      // The beginning of code cannot be recognized.
      const isCode = recipient.type === "system-tool" && recipient.tool.rawBody;
      if (isCallable(recipient) && !isCode) {
        return { recipient, body: bracketFrom(sections, index) };
      }
    } else if (after !== "constrain") {
      const named = findNameAlone(head, offered);
      const body = named === undefined ? "" : bracketFrom(sections, index);
      if (named !== undefined && body !== "") return { recipient: { ...named, isOdd: true }, body };
    }
  }
  return undefined;
}

/** A tool's name alone, or next to a content type. */
function findNameAlone(
  head: string,
  offered: OfferedNames,
): FunctionRecipient | SystemToolRecipient | undefined {
  const words = head.replace(ENDING_CONTENT_TYPE, "").trim();
  const named = findName(words, offered);
  if (named === undefined || (named.type === "system-tool" && named.tool.rawBody)) return undefined;
  return offered.resolve(words.replace(/^functions\./, "")) === named.name ? named : undefined;
}

function upToBracket(text: string): string {
  const bracket = text.search(/[{[]/);
  return bracket < 0 ? text : text.slice(0, bracket);
}

/** The text from the first bracket on: the arguments of a call. */
function bracketFrom(sections: readonly ReadSection[], from: number): string {
  for (let index = from; index < sections.length; index++) {
    const text = sections[index]?.text ?? "";
    const bracket = text.search(/[{[]/);
    if (bracket >= 0) return text.slice(bracket) + wholeFrom(sections, index + 1);
  }
  return "";
}

/** The text after the header words of this section and of the following ones. */
function bodyFrom(sections: readonly ReadSection[], from: number): string {
  for (let index = from; index < sections.length; index++) {
    const section = sections[index];
    if (section === undefined) break;
    const isUntouched = section.after === "start" && section.text === section.whole;
    const body = isUntouched ? section.text : withoutHeaderWords(section);
    if (body.trim() !== "") return body + wholeFrom(sections, index + 1);
  }
  return "";
}

function wholeFrom(sections: readonly ReadSection[], from: number): string {
  return sections
    .slice(from)
    .map(({ whole }) => whole)
    .join("");
}

function withoutHeaderWords({ after, text }: ReadSection): string {
  const words = text.replace(/^\s*to\s*=\s*(?:assistant|all|user)(?![\p{L}\p{N}_.-])/iu, "");
  // After `<|constrain|>` a word is a content type; elsewhere only before JSON or at the end.
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
