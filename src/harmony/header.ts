/**
 * What a header means: who speaks, on which channel, to which function (rules H1 to H5).
 *
 * `<|start|>assistant to=functions.f<|channel|>commentary <|constrain|>json<|message|>` is how it should
 * look. Models put the pieces elsewhere, glue them together, double or forget them, so everything is read
 * leniently. A content type decides nothing, wherever it stands.
 */
import type { Channel } from "./conversation.ts";
import { readRole, toPieces } from "./header-words.ts";
import type { Header, Piece } from "./header-words.ts";
import { findName, readRecipient } from "./recipient.ts";
import type { FunctionRecipient, OfferedNames, Recipient } from "./recipient.ts";
import type { Recovery } from "./recoveries.ts";

export type { Header, HeaderSection } from "./header-words.ts";

export type Meaning =
  | { readonly kind: "reasoning" | "preamble" | "content" }
  | { readonly kind: "tool-call"; readonly name: string }
  /** Written by the model in the name of a tool. */
  | { readonly kind: "tool-result" }
  /** Written by the model in the name of the user, the system or the developer. */
  | { readonly kind: "other-role" };

export interface HeaderReading {
  readonly meaning: Meaning;
  readonly recoveries: readonly Recovery[];
}

/** Reads a header that `<|message|>` closed. */
export function readHeader(header: Header, offered: OfferedNames): HeaderReading {
  const recoveries: Recovery[] = [];
  const role = readRole(header, true, offered);
  recoveries.push(...role.recoveries);
  if (role.author !== "assistant") return { meaning: toOtherMeaning(role.author), recoveries };

  const pieces = toPieces(header, role, true, offered);
  const addressed = findRecipient(pieces, offered);
  const channels = pieces.flatMap((piece) => piece.channel ?? []);
  const channelMarkers = header.sections.filter(({ after }) => after === "channel").length;

  if (addressed?.recipient.type === "function") {
    const { recipient, isWithoutTo } = addressed;
    if (recipient.isOdd) recoveries.push("odd-recipient");
    if (isWithoutTo) recoveries.push("missing-to");
    if (channelMarkers > 1) recoveries.push("channel-in-recipient");
    if (channels.some(({ isOdd }) => isOdd)) recoveries.push("odd-channel");
    return { meaning: toCall(recipient, offered, recoveries), recoveries };
  }
  if (addressed?.recipient.type === "lost") recoveries.push("lost-tool-name");
  if (channels.length > 1 || channelMarkers > 1) recoveries.push("several-channels");
  // The last known channel counts: a stray `commentary` before `analysis` must not show the thought.
  const channel = channels.at(-1);
  if (channel === undefined ? channelMarkers > 0 : channel.isOdd) recoveries.push("odd-channel");
  return { meaning: toMeaning(channel?.channel), recoveries };
}

/** Whether text outside messages is in fact a header: `assistant`, ` to=functions.f`, `final`. */
export function isHeaderText(text: string, offered: OfferedNames): boolean {
  const words = text.replace(/^(?:\s*assistant(?::\S*)?(?!\p{L}))+/iu, "").trim();
  return (
    words === "" ||
    /^(?:assistant)?(?:analysis|commentary|final)?(?:\s*(?:json|code))?$/i.test(words) ||
    /^(?:assistant)?(?:analysis|commentary|final)?\s*to\s*=/i.test(words) ||
    /^(?:user|system|developer)$/i.test(words) ||
    /^\S+\s+to\s*=\s*assistant$/.test(words) ||
    /^functions\.\S+$/.test(words) ||
    offered.has(words)
  );
}

interface Addressed {
  readonly recipient: Recipient;
  readonly isWithoutTo: boolean;
}

/** The first function addressed, else what the first `to=` says. */
function findRecipient(pieces: readonly Piece[], offered: OfferedNames): Addressed | undefined {
  const addressed = pieces.flatMap(({ text }) => readRecipients(text, offered));
  const recipient = addressed.find(({ type }) => type === "function") ?? addressed[0];
  if (recipient !== undefined && recipient.type !== "lost")
    return { recipient, isWithoutTo: false };
  for (const { after, text } of pieces) {
    // A word behind `<|constrain|>` is a content type, unless `to=` stands before it.
    const isContentType = after === "constrain" && recipient === undefined;
    const name = isContentType ? undefined : findName(text, offered);
    if (name !== undefined) {
      const named = { type: "function", name, isOdd: false, isBuiltIn: false } as const;
      return { recipient: named, isWithoutTo: true };
    }
  }
  return recipient && { recipient, isWithoutTo: false };
}

/** Recipients of one section that are looked at; more are noise. */
const MAX_RECIPIENTS = 4;

/** What each `to=` says. In the middle of a sentence it must name a function for certain. */
function readRecipients(text: string, offered: OfferedNames): Recipient[] {
  return [...text.matchAll(/to\s*=/gi).take(MAX_RECIPIENTS)].flatMap((to) => {
    const value = text.slice(to.index + to[0].length);
    const recipient = readRecipient(value, offered);
    const isCertain =
      recipient.type === "function" &&
      (offered.has(recipient.name) || /^\s*functions\./.test(value));
    return isCertain || !isProse(text.slice(0, to.index)) ? [recipient] : [];
  });
}

/** Two words or more: nothing that stands in a header. */
export function isProse(text: string): boolean {
  return /\p{L}\S*\s\P{L}*\p{L}/u.test(text);
}

export function toOtherMeaning(author: "tool" | "other"): Meaning {
  return { kind: author === "tool" ? "tool-result" : "other-role" };
}

const KIND_BY_CHANNEL = {
  analysis: "reasoning",
  commentary: "preamble",
  final: "content",
} as const;

export function toMeaning(channel: Channel | undefined): Meaning {
  return { kind: channel === undefined ? "content" : KIND_BY_CHANNEL[channel] };
}

export function toCall(
  recipient: FunctionRecipient,
  offered: OfferedNames,
  recoveries: Recovery[],
): Meaning {
  if (offered.longestFirst.length === 0) {
    recoveries.push("tool-without-tools");
    return { kind: recipient.isBuiltIn ? "reasoning" : "content" };
  }
  if (!offered.has(recipient.name)) recoveries.push("unoffered-tool");
  return { kind: "tool-call", name: recipient.name };
}
