/** The OpenChatML data model: a header for the whole transcript, and messages. */
import type { Warning } from "./errors.ts";

export interface Document {
  /** `null`: the document has none. */
  readonly header: DocumentHeader | null;
  readonly messages: readonly Message[];
}

export interface ParsedDocument extends Document {
  readonly warnings: readonly Warning[];
}

/** The content of the document header, including unknown keys. */
export interface DocumentHeader {
  /** `major.minor`, as text: the YAML number 2.10 would be 2.1. */
  readonly version: string;
  readonly [key: string]: HeaderValue;
}

export type HeaderValue =
  | null
  | boolean
  | number
  | string
  | readonly HeaderValue[]
  | { readonly [key: string]: HeaderValue };

export type Role = "system" | "developer" | "user" | "assistant" | "tool";
export type Channel = "analysis" | "commentary" | "final";
/** The token that closes a message. */
export type Terminator = "end" | "call" | "return";

export interface Message {
  readonly role: Role;
  /** A display name. For role `tool`, the name of the tool: `functions.get_weather`. */
  readonly name?: string;
  /** The recipient of a call, or `assistant` on a reply. */
  readonly to?: string;
  /** The id of the call, on calls and replies. */
  readonly callId?: string;
  readonly channel: Channel;
  /** The channel is not written, and defaults to `final`. */
  readonly implicitChannel?: true;
  /** `preamble`, `status` or `debug`. Other values are kept and never shown. */
  readonly intent?: string;
  /** The content type, for information only. */
  readonly contentType?: string;
  /** The enforced type of the body: a `json` body must parse. */
  readonly constrain?: string;
  readonly content: string;
  readonly end: Terminator;
}

/** Recipients that are not tools. */
const NO_TOOLS: ReadonlySet<string> = new Set(["assistant", "all", "user"]);

/** Whether a message calls a tool. */
export function isCall({ role, to }: Pick<Message, "role" | "to">): boolean {
  return role === "assistant" && to !== undefined && !NO_TOOLS.has(to);
}

/** Tools the model was trained with. They may also be called on analysis. */
export function isBuiltIn(tool: string): boolean {
  return tool === "python" || tool === "browser" || tool.startsWith("browser.");
}

export function isChannel(word: string): word is Channel {
  return word === "analysis" || word === "commentary" || word === "final";
}

/** Whether Harmony's rules apply: `profiles.harmony.enabled` in the header. */
export function hasHarmonyProfile(header: DocumentHeader | null): boolean {
  return member(member(header?.["profiles"], "harmony"), "enabled") === true;
}

/** A member of a header value; `undefined` if there is none. */
export function member(value: HeaderValue | undefined, key: string): HeaderValue | undefined {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  return Object.entries(value).find(([name]) => name === key)?.[1];
}
