/**
 * Reads role and channel from a header, and the text that remains of each section (rules H1 and H2).
 */
import type { Channel } from "./conversation.ts";
import { beginsWithName, isTrainedTool } from "./recipient.ts";
import type { OfferedNames } from "./offered-names.ts";
import type { Recovery } from "./recoveries.ts";

export interface Header {
  /**
   * The opener of the header: `prompt`, which ends with `<|start|>assistant`; `start`, a start token; or `nothing`,
   * because the start token is missing.
   */
  readonly opener: "prompt" | "start" | "nothing";
  /** The first section is the role and may be empty. */
  readonly sections: readonly HeaderSection[];
}

/** Text between two markers. */
export interface HeaderSection {
  /** The marker before the section. The role follows `<|start|>`. */
  readonly after: "start" | "channel" | "constrain";
  readonly text: string;
}

// ---- Role ----------------------------------------------------------------------------------------

export interface Role {
  readonly author: "assistant" | "tool" | "other";
  /** The section without the role. */
  readonly rest: string;
  /** Whether the role was written. */
  readonly isNamed: boolean;
  readonly recoveries: readonly Recovery[];
}

const ASSISTANT = "(?:[Aa]ssistant|ASSISTANT)";
const ASSISTANT_CLOSED = new RegExp(`^(?:\\s*${ASSISTANT}(?::\\S*)?)+`);
/** Without `<|message|>`, a word after the colon may be the first of the answer. */
const ASSISTANT_OPEN = new RegExp(`^(?:\\s*${ASSISTANT}(?::\\S*$|:)?)+`);
/** Without a start token, “assistant” may begin a sentence. */
const ASSISTANT_UNANNOUNCED = new RegExp(
  `^(?:\\s*${ASSISTANT}(?::\\S*$|:)?(?=\\s*(?:assistant|analysis|commentary|final|to\\s*=)|(?![ \\t]*\\p{Ll})))+`,
  "u",
);
const OTHER_ROLE = /^\s*(?:[Uu]ser|[Ss]ystem|[Dd]eveloper)(?![a-z])/;
const TO_ASSISTANT = /to\s*=\s*assistant/i;

export function readRole(header: Header, isClosed: boolean, offered: OfferedNames): Role {
  const { opener, sections } = header;
  const text = sections[0]?.text ?? "";
  const isAnnounced = isClosed || opener === "start";
  const pattern = isClosed
    ? ASSISTANT_CLOSED
    : isAnnounced
      ? ASSISTANT_OPEN
      : ASSISTANT_UNANNOUNCED;
  const role = pattern.exec(text)?.[0];
  if (role !== undefined) {
    const recoveries: Recovery[] = [];
    if (opener === "prompt" || /assistant.*assistant/is.test(role))
      recoveries.push("repeated-start");
    if (opener === "start" && !/^assistant(?:\s|$)/.test(text)) recoveries.push("odd-role");
    return { author: "assistant", rest: text.slice(role.length), isNamed: true, recoveries };
  }

  if (opener === "start" ? OTHER_ROLE.test(text) : isClosed && isOtherRoleAlone(text)) {
    return { author: "other", rest: "", isNamed: false, recoveries: [] };
  }
  const word = /^\s*([^\s{[<]+)/.exec(text)?.[1] ?? "";
  const isToResult = sections.some((section) => TO_ASSISTANT.test(section.text));
  if (word !== "" && !/^to\s*=/i.test(word) && readChannel(word, "exact") === undefined) {
    const isTool =
      opener === "start"
        ? isToResult ||
          /^(?:tool$|functions\.)/.test(word) ||
          isTrainedTool(word) ||
          offered.hasTool(word)
        : isToResult && (word.startsWith("functions.") || offered.hasTool(word));
    if (isTool) return { author: "tool", rest: "", isNamed: false, recoveries: [] };
  }
  const recoveries: Recovery[] = opener === "start" ? ["odd-role"] : [];
  return { author: "assistant", rest: text, isNamed: false, recoveries };
}

function isOtherRoleAlone(text: string): boolean {
  return OTHER_ROLE.test(text) && /^\s*\S+\s*$/.test(text);
}

// ---- Channel -------------------------------------------------------------------------------------

interface ChannelWord {
  readonly channel: Channel;
  /** Offset of the end of the word in the section. */
  readonly end: number;
  /** Whether the word differs from the channel's exact name. */
  readonly isOdd: boolean;
}

const EXACT_CHANNEL = /^\s*(?:analysis|commentary|final)/i;
const REASONING_WORD = /^\s*(?:thinking|thoughts?|reasoning)/i;
const CHANNELS: readonly Channel[] = ["analysis", "commentary", "final"];
/** Minimum characters of an abbreviated channel name. */
const MIN_CHANNEL_PREFIX = 3;

function readChannel(text: string, manner: "exact" | "lenient"): ChannelWord | undefined {
  const [exact] = EXACT_CHANNEL.exec(text) ?? [];
  if (exact !== undefined) {
    const channel = CHANNELS.find((name) => name === exact.trimStart().toLowerCase());
    const isGlued = /^\S/.test(text.slice(exact.length));
    return channel && { channel, end: exact.length, isOdd: exact !== channel || isGlued };
  }
  if (manner === "exact") return undefined;
  const [reasoningWord] = REASONING_WORD.exec(text) ?? [];
  if (reasoningWord !== undefined) {
    return { channel: "analysis", end: reasoningWord.length, isOdd: true };
  }
  const [all = "", word = ""] = /^\s*(\p{L}+)/u.exec(text) ?? [];
  if (word.length < MIN_CHANNEL_PREFIX) return undefined;
  const channel = CHANNELS.find((name) => name.startsWith(word.toLowerCase()));
  return channel && { channel, end: all.length, isOdd: true };
}

// ---- Sections without role and channel words -----------------------------------------------------

export interface ReadSection {
  readonly after: HeaderSection["after"];
  readonly channel: ChannelWord | undefined;
  /** The section without its role and channel. */
  readonly text: string;
  /** The whole section, in case it is body text. */
  readonly whole: string;
}

export function readSections(
  header: Header,
  role: Role,
  isClosed: boolean,
  offered: OfferedNames,
): ReadSection[] {
  return header.sections.map(({ after, text: whole }, index) => {
    const text = index === 0 ? role.rest : whole;
    let channel: ChannelWord | undefined;
    // A function may be called `final_report`.
    if (beginsWithName(text, offered)) channel = undefined;
    else if (after === "channel") channel = readChannel(text, "lenient");
    else if (index === 0) channel = readChannelInRole(text, header, role, isClosed);
    return { after, channel, text: text.slice(channel?.end ?? 0), whole };
  });
}

/** A channel word in place of the role, or glued to it: `<|start|>final`, `assistantfinal`. */
function readChannelInRole(
  text: string,
  header: Header,
  role: Role,
  isClosed: boolean,
): ChannelWord | undefined {
  const word = readChannel(text, "exact");
  if (word === undefined) return undefined;
  const odd = { ...word, isOdd: true };
  if (isClosed) return odd;
  const isAnnounced = role.isNamed || header.opener === "start";
  const isGlued = role.isNamed && !/^\s/.test(text);
  return isAnnounced && (isGlued || !/^[a-z]/.test(text.slice(word.end))) ? odd : undefined;
}
