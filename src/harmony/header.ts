/**
 * Reads the meaning of a header: author, channel and recipient (rules H1 to H5).
 *
 * The format is `<|start|>assistant to=functions.f<|channel|>commentary <|constrain|>json<|message|>`. Models reorder,
 * join, repeat or omit its parts, so all parts are read leniently. A content type has no effect on the meaning.
 */
import type { CallProof } from "./call-doubt.ts";
import type { Channel } from "./conversation.ts";
import { readRole, readSections } from "./header-words.ts";
import type { Header, ReadSection } from "./header-words.ts";
import type { OfferedNames } from "./offered-names.ts";
import { findName, isTrainedTool, readRecipient } from "./recipient.ts";
import type { SystemToolRecipient, FunctionRecipient, Recipient } from "./recipient.ts";
import type { Recovery } from "./recoveries.ts";

export type { Header, HeaderSection } from "./header-words.ts";

/** The meaning of a message that is emitted. */
export type MessageMeaning =
  | { readonly kind: "reasoning" | "preamble" | "content" }
  | { readonly kind: "tool-call"; readonly name: string }
  /** A call to a tool offered in the system message. */
  | { readonly kind: "builtin-call"; readonly name: string; readonly rawBody: boolean };

export type Meaning =
  | MessageMeaning
  /** A tool result that the model invented. */
  | { readonly kind: "tool-result" }
  /** A message of the user, system or developer that the model invented. */
  | { readonly kind: "other-role" };

interface HeaderReading<M extends Meaning = Meaning> {
  readonly meaning: M;
  readonly recoveries: readonly Recovery[];
  readonly doubt?: undefined;
}

/** The reading of a header that only suggests a call. */
interface DoubtfulReading {
  readonly meaning: MessageMeaning;
  readonly recoveries: readonly Recovery[];
  readonly doubt: Doubt;
}

/** The body decides whether a message is the call that its header suggests. */
export interface Doubt {
  readonly proof: CallProof;
  /** The meaning if the message is not a call. */
  readonly otherwise: MessageMeaning;
  readonly recoveries: readonly Recovery[];
}

/** Reads a header that `<|message|>` closed. */
export function readHeader(header: Header, offered: OfferedNames): HeaderReading | DoubtfulReading {
  const trained = readTrainedHeader(header);
  if (trained !== undefined) return { meaning: toMeaning(trained), recoveries: NO_RECOVERIES };
  const role = readRole(header, true, offered);
  if (role.author !== "assistant") {
    return { meaning: toOtherMeaning(role.author), recoveries: role.recoveries };
  }
  const sections = readSections(header, role, true, offered);
  const channelMarkers = header.sections.filter(({ after }) => after === "channel").length;
  const addressed = findRecipient(sections, offered);
  const call = addressed && readCall(addressed, { sections, channelMarkers, offered });
  if (call?.proof === undefined) {
    const { meaning, recoveries } = call ?? readChannels(sections, channelMarkers, addressed);
    return { meaning, recoveries: [...role.recoveries, ...recoveries] };
  }
  const { meaning: otherwise, recoveries } = readChannels(sections, channelMarkers, undefined);
  return {
    meaning: call.meaning,
    recoveries: [...role.recoveries, ...call.recoveries],
    doubt: { proof: call.proof, otherwise, recoveries: [...role.recoveries, ...recoveries] },
  };
}

interface CallReading extends HeaderReading<MessageMeaning> {
  readonly proof: CallProof | undefined;
}

interface CallContext {
  readonly sections: readonly ReadSection[];
  readonly channelMarkers: number;
  readonly offered: OfferedNames;
}

function readCall(
  { recipient, form }: Addressed,
  { sections, channelMarkers, offered }: CallContext,
): CallReading | undefined {
  if (!isCallable(recipient)) return undefined;
  const recoveries: Recovery[] = [];
  if (recipient.isOdd) recoveries.push("odd-recipient");
  if (form !== "to") recoveries.push("missing-to");
  if (channelMarkers > 1) recoveries.push("channel-in-recipient");
  if (sections.some(({ channel }) => channel?.isOdd)) recoveries.push("odd-channel");
  const meaning = toCall(recipient, offered, recoveries);
  return { meaning, recoveries, proof: proofOf(form, meaning) };
}

/** The required body of a call without `to=`, so that text which only mentions a tool is not a call. */
function proofOf(form: Addressed["form"], meaning: MessageMeaning): CallProof | undefined {
  if (form === "to" || (meaning.kind !== "tool-call" && meaning.kind !== "builtin-call")) {
    return undefined;
  }
  if (form === "author") return "object";
  return meaning.kind === "builtin-call" && meaning.rawBody ? undefined : "beginning";
}

function readChannels(
  sections: readonly ReadSection[],
  channelMarkers: number,
  addressed: Addressed | undefined,
): HeaderReading<MessageMeaning> {
  const recoveries: Recovery[] = [];
  const channels = sections.flatMap((section) => section.channel ?? []);
  if (addressed?.recipient.type === "lost") recoveries.push("lost-tool-name");
  if (channels.length > 1 || channelMarkers > 1) recoveries.push("several-channels");
  // The last known channel is used: a stray `commentary` before `analysis` must not make the analysis visible.
  const channel = channels.at(-1);
  if (channel === undefined ? channelMarkers > 0 : channel.isOdd) recoveries.push("odd-channel");
  return { meaning: toMeaning(channel?.channel), recoveries };
}

const NO_RECOVERIES: readonly Recovery[] = [];

/**
 * The channel of a header without a recipient in exactly the trained form, which most headers have. No offered name
 * equals a channel's whole word, so the general path gives the same result.
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
    offered.hasTool(words)
  );
}

interface Addressed {
  readonly recipient: Recipient;
  /** The form of the recipient: after `to=`, its name alone, or as the author of a result, `f to=assistant`. */
  readonly form: "to" | "name" | "author";
}

/** Returns the first recipient that is a function, else the first recipient. */
function findRecipient(
  sections: readonly ReadSection[],
  offered: OfferedNames,
): Addressed | undefined {
  const addressed = sections.flatMap(({ text }) => readRecipients(text, offered));
  const recipient = addressed.find((each) => isCallable(each)) ?? addressed[0];
  const known = recipient && ({ recipient, form: "to" } as const);
  if (known?.recipient.type === "no-function") return findAuthor(sections, offered) ?? known;
  if (known !== undefined && known.recipient.type !== "lost") return known;
  for (const { after, text } of sections) {
    // A word after `<|constrain|>` is a content type, unless `to=` stands before it.
    const isContentType = after === "constrain" && recipient === undefined;
    const named = isContentType ? undefined : findName(text, offered);
    if (named !== undefined) return { recipient: named, form: "name" };
  }
  return findTrained(sections, offered) ?? known;
}

/** Finds a tool in an assistant's header that begins like a result's: `<|channel|>f to=assistant`. */
function findAuthor(
  sections: readonly ReadSection[],
  offered: OfferedNames,
): Addressed | undefined {
  for (const { text } of sections) {
    const [, name = ""] = /^\s*(\S+)\s+to\s*=\s*assistant(?![\p{L}\p{N}_.-])/iu.exec(text) ?? [];
    const isTool =
      isTrainedTool(name) || (/^[\w-]+(?:\.[\w-]+)+$/.test(name) && offered.readsCalls);
    const recipient =
      findName(name, offered) ?? (isTool ? readRecipient(name, offered) : undefined);
    if (recipient !== undefined) return { recipient, form: "author" };
  }
  return undefined;
}

/** Finds a trained tool that is not offered, in place of a channel. */
function findTrained(
  sections: readonly ReadSection[],
  offered: OfferedNames,
): Addressed | undefined {
  if (sections.findLast(({ channel }) => channel)?.channel?.channel === "final") return undefined;
  for (const { after, channel, text } of sections) {
    if (channel !== undefined || after === "constrain") continue;
    const [, name = ""] = /^\s*([\w.-]+)(?:\s+(?:json|code))?\s*$/.exec(text) ?? [];
    if (isTrainedTool(name)) return { recipient: readRecipient(name, offered), form: "name" };
  }
  return undefined;
}

/** Recipients read per section; further ones are ignored. */
const MAX_RECIPIENTS = 4;

/** Reads each `to=`. Within a sentence it must name a function unambiguously. */
function readRecipients(text: string, offered: OfferedNames): Recipient[] {
  return [...text.matchAll(/to\s*=/gi).take(MAX_RECIPIENTS)].flatMap((to) => {
    const value = text.slice(to.index + to[0].length);
    const recipient = readRecipient(value, offered);
    const isCertain =
      recipient.type === "system-tool" ||
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

export function toMeaning(channel: Channel | undefined): MessageMeaning {
  return { kind: channel === undefined ? "content" : KIND_BY_CHANNEL[channel] };
}

export function isCallable(
  recipient: Recipient,
): recipient is FunctionRecipient | SystemToolRecipient {
  return recipient.type === "function" || recipient.type === "system-tool";
}

export function toCall(
  recipient: FunctionRecipient | SystemToolRecipient,
  offered: OfferedNames,
  recoveries: Recovery[],
): MessageMeaning {
  if (recipient.type === "system-tool") {
    if (recipient.hasNamespace) recoveries.push("functions-prefix");
    const { name, tool } = recipient;
    return { kind: "builtin-call", name, rawBody: tool.rawBody };
  }
  if (!offered.readsCalls) {
    recoveries.push("tool-without-tools");
    return { kind: recipient.isTrained ? "reasoning" : "content" };
  }
  if (!offered.has(recipient.name)) recoveries.push("unoffered-tool");
  return { kind: "tool-call", name: recipient.name };
}
