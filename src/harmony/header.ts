/**
 * Reads the meaning of a header: author, channel and recipient (rules H1 to H5).
 *
 * The format is `<|start|>assistant to=functions.f<|channel|>commentary <|constrain|>json<|message|>`. Models reorder,
 * join, repeat or omit its parts, so everything is read leniently. A content type has no effect on the meaning.
 */
import type { Channel } from "./conversation.ts";
import { readRole, readSections } from "./header-words.ts";
import type { Header, ReadSection } from "./header-words.ts";
import { findName, readRecipient } from "./recipient.ts";
import type { BuiltinRecipient, FunctionRecipient, OfferedNames, Recipient } from "./recipient.ts";
import type { Recovery } from "./recoveries.ts";

export type { Header, HeaderSection } from "./header-words.ts";

export type Meaning =
  | { readonly kind: "reasoning" | "preamble" | "content" }
  | { readonly kind: "tool-call"; readonly name: string }
  /** A call to a tool offered in the system message. */
  | { readonly kind: "builtin-call"; readonly name: string; readonly rawBody: boolean }
  /** A tool result that the model made up. */
  | { readonly kind: "tool-result" }
  /** A message of the user, system or developer that the model made up. */
  | { readonly kind: "other-role" };

interface HeaderReading {
  readonly meaning: Meaning;
  readonly recoveries: readonly Recovery[];
}

/** Reads a header that `<|message|>` closed. */
export function readHeader(header: Header, offered: OfferedNames): HeaderReading {
  const trained = readTrainedHeader(header);
  if (trained !== undefined) return { meaning: toMeaning(trained), recoveries: NO_RECOVERIES };
  const recoveries: Recovery[] = [];
  const role = readRole(header, true, offered);
  recoveries.push(...role.recoveries);
  if (role.author !== "assistant") return { meaning: toOtherMeaning(role.author), recoveries };

  const sections = readSections(header, role, true, offered);
  const addressed = findRecipient(sections, offered);
  const channels = sections.flatMap((section) => section.channel ?? []);
  const channelMarkers = header.sections.filter(({ after }) => after === "channel").length;

  if (addressed !== undefined && isCallable(addressed.recipient)) {
    const { recipient, isWithoutTo } = addressed;
    if (recipient.isOdd) recoveries.push("odd-recipient");
    if (isWithoutTo) recoveries.push("missing-to");
    if (channelMarkers > 1) recoveries.push("channel-in-recipient");
    if (channels.some(({ isOdd }) => isOdd)) recoveries.push("odd-channel");
    return { meaning: toCall(recipient, offered, recoveries), recoveries };
  }
  if (addressed?.recipient.type === "lost") recoveries.push("lost-tool-name");
  if (channels.length > 1 || channelMarkers > 1) recoveries.push("several-channels");
  // The last known channel counts: a stray `commentary` before `analysis` must not make the analysis visible.
  const channel = channels.at(-1);
  if (channel === undefined ? channelMarkers > 0 : channel.isOdd) recoveries.push("odd-channel");
  return { meaning: toMeaning(channel?.channel), recoveries };
}

const NO_RECOVERIES: readonly Recovery[] = [];

/**
 * The channel of a header exactly as the model was trained to write it, without a recipient: most headers are. No offered
 * name is mistaken for a channel's whole word, so the general way reads the same.
 */
function readTrainedHeader({ opener, sections }: Header): Channel | undefined {
  const [role, channel] = sections;
  if (role === undefined || channel?.after !== "channel" || sections.length > 2) return undefined;
  const isTrained = opener === "prompt" ? role.text === "" : role.text === "assistant";
  if (!isTrained || opener === "nothing") return undefined;
  const { text } = channel;
  return text === "analysis" || text === "commentary" || text === "final" ? text : undefined;
}

/** Whether text outside messages is a header: `assistant`, ` to=functions.f`, `final`. */
export function isHeaderText(text: string, offered: OfferedNames): boolean {
  if (text === "" || text === "assistant") return true;
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

/** Returns the first recipient that is a function, else the first recipient. */
function findRecipient(
  sections: readonly ReadSection[],
  offered: OfferedNames,
): Addressed | undefined {
  const addressed = sections.flatMap(({ text }) => readRecipients(text, offered));
  const recipient = addressed.find((each) => isCallable(each)) ?? addressed[0];
  if (recipient !== undefined && recipient.type !== "lost")
    return { recipient, isWithoutTo: false };
  for (const { after, text } of sections) {
    // A word after `<|constrain|>` is a content type, unless `to=` stands before it.
    const isContentType = after === "constrain" && recipient === undefined;
    const name = isContentType ? undefined : findName(text, offered);
    if (name !== undefined) {
      const named = { type: "function", name, isOdd: false, isBuiltIn: false } as const;
      return { recipient: named, isWithoutTo: true };
    }
  }
  return recipient && { recipient, isWithoutTo: false };
}

/** Recipients read per section; further ones are ignored. */
const MAX_RECIPIENTS = 4;

/** Reads each `to=`. Within a sentence it must name a function unambiguously. */
function readRecipients(text: string, offered: OfferedNames): Recipient[] {
  return [...text.matchAll(/to\s*=/gi).take(MAX_RECIPIENTS)].flatMap((to) => {
    const value = text.slice(to.index + to[0].length);
    const recipient = readRecipient(value, offered);
    const isCertain =
      recipient.type === "builtin" ||
      (recipient.type === "function" &&
        (offered.has(recipient.name) || /^\s*functions\./.test(value)));
    return isCertain || !isProse(text.slice(0, to.index)) ? [recipient] : [];
  });
}

/** Whether text has two words or more, which no header has in sequence. */
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

export function isCallable(
  recipient: Recipient,
): recipient is FunctionRecipient | BuiltinRecipient {
  return recipient.type === "function" || recipient.type === "builtin";
}

export function toCall(
  recipient: FunctionRecipient | BuiltinRecipient,
  offered: OfferedNames,
  recoveries: Recovery[],
): Meaning {
  if (recipient.type === "builtin") {
    if (recipient.hasNamespace) recoveries.push("functions-prefix");
    const { name, tool } = recipient;
    return { kind: "builtin-call", name, rawBody: tool.rawBody };
  }
  if (offered.longestFirst.length === 0 && offered.builtins.length === 0) {
    recoveries.push("tool-without-tools");
    return { kind: recipient.isBuiltIn ? "reasoning" : "content" };
  }
  if (!offered.has(recipient.name)) recoveries.push("unoffered-tool");
  return { kind: "tool-call", name: recipient.name };
}
