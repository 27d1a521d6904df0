/**
 * Reads the header of a message in a transcript: author, channel, recipient and content type.
 *
 * `readReferenceHeader` reads like openai/harmony 0.0.8, which accepts many broken headers with a wrong meaning.
 * `readWrittenHeader` reads the renderer's output, in either layout, including names and odd content types.
 */
import type { Message, Role } from "./conversation.ts";

/** A message without its body. */
export type TranscriptHeader = Omit<Message, "content">;

/** Text of a header and the marker it follows. The first section follows `<|start|>`. */
export interface TranscriptSection {
  readonly after: "start" | "channel" | "constrain" | "other";
  readonly text: string;
}

export type HeaderErrorCode = "header_leftover" | "empty_channel" | "no_role" | "unknown_role";

/** Thrown if the reference rejects the header. */
export class HeaderError extends Error {
  readonly code: HeaderErrorCode;

  constructor(code: HeaderErrorCode, message: string) {
    super(message);
    this.name = "HeaderError";
    this.code = code;
  }
}

const ROLES: readonly Role[] = ["system", "developer", "user", "assistant", "tool"];
const CONSTRAIN = "<|constrain|>";

export function isRole(text: string): text is Role {
  return ROLES.some((role) => role === text);
}

/**
 * `text`: the text up to `<|message|>`, markers spelled out. `role`: the role of a header that the prompt has opened.
 */
export function readReferenceHeader(text: string, role: Role | undefined): TranscriptHeader {
  const { channel, words } = splitReference(text);
  const author = readReferenceAuthor(words, role);
  const last = words.pop();
  let recipient: string | undefined;
  let contentType: string | undefined;
  if (last !== undefined) {
    const isRecipient = last.startsWith("to=") || words.length === 0;
    if (!isRecipient) contentType = last;
    recipient = (isRecipient ? last : (words.pop() ?? "")).replace(/^to=/, "");
  }
  if (words.length > 0) {
    const rest = words.join(" ");
    throw new HeaderError(
      "header_leftover",
      `unexpected tokens remaining in message header: Some("${rest}")`,
    );
  }
  return {
    ...author,
    ...(recipient !== undefined && { recipient }),
    ...(channel !== undefined && { channel }),
    ...(contentType !== undefined && { contentType }),
  };
}

/** The channel, and the words around it. */
export function splitReference(text: string): {
  readonly channel: string | undefined;
  readonly words: string[];
} {
  const marker = "<|channel|>";
  const at = text.indexOf(marker);
  let rest = text;
  let channel: string | undefined;
  if (at >= 0) {
    channel = /^[^\s<]*/.exec(text.slice(at + marker.length))?.[0] ?? "";
    if (channel === "") {
      throw new HeaderError(
        "empty_channel",
        "channel marker present but no channel value found in header",
      );
    }
    rest = text.slice(0, at) + text.slice(at + marker.length + channel.length);
  }
  const words = rest
    .trim()
    .replaceAll(CONSTRAIN, ` ${CONSTRAIN}`)
    .split(/[ \t\n\f\r]+/);
  return { channel, words: words.filter((word) => word !== "") };
}

/** Removes the author, if any, from the beginning of the words. */
function readReferenceAuthor(
  words: string[],
  given: Role | undefined,
): Pick<Message, "role" | "name"> {
  const [first] = words;
  if (given !== undefined) {
    if (first === given) words.shift();
    return { role: given };
  }
  if (first === undefined) {
    throw new HeaderError("no_role", "message header did not contain a role");
  }
  const known = ROLES.find((role) => role === first);
  if (known === undefined && words.length === 1 && !first.startsWith("to=")) {
    throw new HeaderError("unknown_role", `Unknown role: ${first}`);
  }
  words.shift();
  return known === undefined || known === "tool" ? { role: "tool", name: first } : { role: known };
}

/** Never throws: unexpected text is read as a content type. */
export function readWrittenHeader(
  sections: readonly TranscriptSection[],
  given: Role | undefined,
): TranscriptHeader {
  const start = sections[0]?.text ?? "";
  const channels = sections.find(({ after }) => after === "channel");
  const types = sections.find(({ after }) => after === "constrain");
  const isLast = channels === undefined && types === undefined;
  // One space precedes the marker of a content type.
  const spaced = (text: string) => (types === undefined ? text : text.replace(/ $/, ""));

  const [authorText, startTo] = splitRecipient(channels === undefined ? spaced(start) : start);
  const [channelText, channelTo] = splitRecipient(spaced(channels?.text ?? ""));
  const [typeText, typeTo] = splitRecipient(types?.text ?? "");
  const first = splitWord(authorText, isLast && startTo === undefined);
  const second = splitWord(channelText, true);
  const [startRecipient, startType] =
    startTo === undefined ? [] : isLast ? splitWord(startTo, true) : [startTo.trimEnd()];
  const [channelRecipient, channelType] =
    channelTo === undefined ? [] : splitWord(channelTo, types === undefined);
  const recipient = startRecipient ?? channelRecipient ?? typeTo;
  const plainType = channelType ?? startType ?? second[1] ?? first[1];
  const contentType = types === undefined ? plainType : `${CONSTRAIN}${typeText}`;
  return {
    ...readAuthor(first[0], given),
    ...(recipient !== undefined && { recipient }),
    ...(channels !== undefined && { channel: second[0] }),
    ...(contentType !== undefined && { contentType }),
  };
}

/** The text before ` to=` and after it. */
function splitRecipient(text: string): readonly [string, string?] {
  const at = /(?:^| )to=/.exec(text);
  if (at === null) return [text];
  return [text.slice(0, at.index), text.slice(at.index + at[0].length)];
}

/** The text up to the first space and after it. `isOpen`: a content type may follow. */
function splitWord(text: string, isOpen: boolean): readonly [string, string?] {
  const at = isOpen ? text.indexOf(" ") : -1;
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}

function readAuthor(text: string, given: Role | undefined): Pick<Message, "role" | "name"> {
  const author = text.trim();
  if (given !== undefined && (author === "" || author === given)) return { role: given };
  const role = ROLES.find((each) => author === each || author.startsWith(`${each}:`));
  if (author === "") return { role: "assistant" };
  if (role === undefined || role === "tool") return { role: "tool", name: author };
  return author === role ? { role } : { role, name: author.slice(role.length + 1) };
}
