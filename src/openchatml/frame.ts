/**
 * Reads the header of a frame: role, channel, recipient and attributes.
 *
 *     <|start|>role attr… <|channel|>channel attr… <|constrain|>type<|message|>
 */
import { isChannel } from "./document.ts";
import type { Channel, Role } from "./document.ts";
import type { ErrorCode, WarningCode } from "./errors.ts";

/** The text of a header between its tokens, unescaped. */
export interface FrameSections {
  readonly start: string;
  readonly channel?: string;
  readonly constrain?: string;
}

/** A message without body. The channel is absent if it is not written. */
export interface FrameHeader {
  readonly role: Role;
  readonly name?: string;
  readonly to?: string;
  readonly callId?: string;
  readonly channel?: Channel;
  readonly intent?: string;
  readonly contentType?: string;
  readonly constrain?: string;
}

export class FrameError extends Error {
  readonly code: ErrorCode;

  constructor(problem: string, code: ErrorCode = "E-PARSE-HEADER") {
    super(problem);
    this.name = "FrameError";
    this.code = code;
  }
}

export interface ReadFrame {
  readonly header: FrameHeader;
  readonly warnings: readonly WarningCode[];
}

export function readFrame(sections: FrameSections): ReadFrame {
  const warnings: WarningCode[] = [];
  const [author, ...attributes] = words(sections.start);
  if (author === undefined) throw new FrameError("the role is missing");
  const [channel, ...hints] = sections.channel === undefined ? [] : words(sections.channel);
  if (sections.channel !== undefined && channel === undefined) {
    throw new FrameError("the channel is missing");
  }
  if (channel !== undefined && !isChannel(channel)) {
    throw new FrameError(
      `${quote(channel)} is not a channel: expected analysis, commentary or final`,
    );
  }
  const first = readAttributes(attributes, START_KEYS, warnings);
  const second = readAttributes(hints.filter(hasKey), CHANNEL_KEYS, warnings);
  const hint = readHint(hints);
  const constrain = sections.constrain === undefined ? undefined : readType(sections.constrain);

  const named = readAuthor(author, first.get("name"));
  const to = agree("to", first.get("to"), second.get("to"));
  const callId = first.get("call_id");
  const intent = agree("intent", first.get("intent"), second.get("intent"));
  const stated = agree("content_type", first.get("content_type"), second.get("content_type"));
  const contentType = agree("content_type", stated, hint);
  if (intent !== undefined && !INTENTS.has(intent)) warnings.push("W-UNKNOWN-INTENT");
  if (constrain !== undefined && contentType !== undefined && contentType !== constrain) {
    warnings.push("W-CONTENT-TYPE");
  }
  const header: FrameHeader = {
    ...named,
    ...(to !== undefined && { to }),
    ...(callId !== undefined && { callId }),
    ...(channel !== undefined && { channel }),
    ...(intent !== undefined && { intent }),
    ...(contentType !== undefined && { contentType }),
    ...(constrain !== undefined && { constrain }),
  };
  return { header, warnings };
}

/** Whether a text is valid in a header: one word without control characters. */
export function isHeaderValue(text: string): boolean {
  return text !== "" && !UNWRITABLE.test(text);
}

const INTENTS: ReadonlySet<string> = new Set(["preamble", "status", "debug"]);
const START_KEYS: ReadonlySet<string> = new Set([
  "to",
  "call_id",
  "name",
  "intent",
  "content_type",
]);
const CHANNEL_KEYS: ReadonlySet<string> = new Set(["to", "intent", "content_type"]);
const UNWRITABLE = /[\s\p{Cc}]/u;

function words(section: string): string[] {
  const found = section.split(/[ \t\r\n]+/).filter((word) => word !== "");
  const wrong = found.find((word) => UNWRITABLE.test(word));
  if (wrong !== undefined) throw new FrameError(`${quote(wrong)} contains a control character`);
  return found;
}

function hasKey(word: string): boolean {
  return word.includes("=");
}

/** `known`: the attributes allowed here. Attributes that are allowed only elsewhere are rejected. */
function readAttributes(
  attributes: readonly string[],
  known: ReadonlySet<string>,
  warnings: WarningCode[],
): Map<string, string> {
  const values = new Map<string, string>();
  for (const attribute of attributes) {
    const [, key = "", value = ""] = /^([^=]*)=(.*)$/s.exec(attribute) ?? [];
    if (key === "" || value === "") throw new FrameError(`${quote(attribute)} is not an attribute`);
    if (values.has(key)) throw new FrameError(`${key}= is repeated`);
    if (!known.has(key) && START_KEYS.has(key)) {
      throw new FrameError(`${key}= must stand before the channel`);
    }
    if (!known.has(key)) warnings.push("W-UNKNOWN-ATTRIBUTE");
    values.set(key, value);
  }
  return values;
}

/** Harmony's plain content type: a bare word at the end of the channel's section. */
function readHint(hints: readonly string[]): string | undefined {
  const bare = hints.filter((word) => !hasKey(word));
  if (bare.length === 0) return undefined;
  if (bare.length > 1 || bare[0] !== hints.at(-1)) {
    throw new FrameError(`${quote(bare[0] ?? "")} is not an attribute`);
  }
  return bare[0];
}

function readType(section: string): string {
  const [type, ...others] = words(section);
  if (type === undefined || others.length > 0) {
    throw new FrameError("the constraint after <|constrain|> must be one word");
  }
  return type;
}

const ROLES: readonly Role[] = ["system", "developer", "user", "assistant", "tool"];
/** Authors in Harmony's form: the tool instead of the role. */
const TOOL_AUTHOR = /^(?:functions\.[A-Za-z0-9_.-]+|python|browser(?:\.[A-Za-z0-9_.-]+)?)$/;

function readAuthor(author: string, name: string | undefined): Pick<FrameHeader, "role" | "name"> {
  const role = ROLES.find((each) => each === author);
  if (role === undefined) {
    if (!TOOL_AUTHOR.test(author)) throw new FrameError(`${quote(author)} is not a role`);
    if (name !== undefined && name !== author) {
      throw new FrameError(`the author is ${author} and the name ${name}`);
    }
    return { role: "tool", name: author };
  }
  if (role === "tool" && name === undefined) throw new FrameError("a tool needs a name=");
  return { role, ...(name !== undefined && { name }) };
}

/** Checks that a value written in two places is equal in both. */
function agree(
  key: string,
  one: string | undefined,
  other: string | undefined,
): string | undefined {
  if (one !== undefined && other !== undefined && one !== other) {
    throw new FrameError(`${key}= is ${quote(one)} in one place and ${quote(other)} in another`);
  }
  return one ?? other;
}

function quote(text: string): string {
  return JSON.stringify(text.length > 40 ? `${text.slice(0, 39)}…` : text);
}
