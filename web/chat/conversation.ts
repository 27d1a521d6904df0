/** A conversation as a tree: an edited question or a regenerated answer becomes a sibling of the original. */
import type {
  ApiName,
  AssistantPart,
  Attachment,
  ComposedOptions,
} from "../../src/snippets/composed.ts";

/** A text file, which becomes a fenced block of the message in a request. */
export interface TextFile {
  readonly name: string;
  readonly text: string;
}

export type MessageFile = Attachment | TextFile;

export interface Question {
  readonly id: string;
  /** Id of the message before it. Null: it is the first. */
  readonly parent: string | null;
  readonly role: "user";
  readonly text: string;
  readonly files?: readonly MessageFile[];
}

/** A call that the gateway has run. The model continues its reasoning after the call, which is never sent back. */
export interface GatewayCall {
  readonly type: "ran";
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
  /** Result of the call. Undefined: it is still running. */
  readonly result?: string;
}

/** A part of an answer, with its time. */
export type AnswerPart = (AssistantPart | GatewayCall) & {
  /** Times of the first and last piece, in milliseconds since 1970. */
  readonly began?: number;
  readonly ended?: number;
};

export interface Usage {
  readonly input?: number;
  readonly output?: number;
  readonly reasoning?: number;
  readonly cached?: number;
}

export interface Answer {
  readonly id: string;
  readonly parent: string | null;
  readonly role: "assistant";
  readonly parts: readonly AnswerPart[];
  readonly api: ApiName;
  readonly model: string;
  /** `cut`: the page was closed while the answer was written. */
  readonly status: "running" | "done" | "stopped" | "cut" | "failed";
  /** The gateway's error message. */
  readonly problem?: string;
  readonly usage?: Usage;
  /** Finish reason in the API's form: `stop`, `completed`, `end_turn`. */
  readonly finish?: string;
  readonly firstMs?: number;
  readonly totalMs?: number;
  readonly requestId?: string;
}

export type Message = Question | Answer;

/** Prefix of an MCP server's label, in the name of a tool that the gateway runs. */
export const MCP = "mcp:";

export interface Conversation {
  readonly id: string;
  readonly title: string;
  /** Time of the last request. */
  readonly updated: number;
  /** A pinned chat is listed first, and deleted last. */
  readonly isPinned?: boolean;
  readonly messages: readonly Message[];
  /** The shown follower of a message, by the message's id (or "" for the beginning). */
  readonly chosen: Readonly<Record<string, string>>;
  readonly api: ApiName;
  /** Model of the chat. Absent: the first model of the gateway. */
  readonly model?: string;
  readonly system: string;
  /** Functions and other tools, as JSON. */
  readonly tools: string;
  /** Tools that the gateway runs: `browser`, `python`, and `mcp:LABEL` for a server. */
  readonly gatewayTools?: readonly string[];
  readonly options: Omit<ComposedOptions, "format">;
  readonly format: "" | "object" | "schema";
  /** JSON Schema of the format, as text. */
  readonly schema: string;
  /** Fixed results of functions, by name. */
  readonly results: Readonly<Record<string, string>>;
  /** Id of the recorded turn from which the chat was opened. Its next request sends the id, for the inspector. */
  readonly forkOf?: string;
}

/** Creates an id. Browsers have `randomUUID` only for pages from HTTPS and from this machine. */
export function newId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

export function newConversation(like?: Conversation): Conversation {
  return {
    id: newId(),
    title: "New chat",
    updated: Date.now(),
    messages: [],
    chosen: {},
    api: like?.api ?? "chat",
    ...(like?.model !== undefined && { model: like.model }),
    system: "",
    tools: "",
    options: like?.options.effort === undefined ? {} : { effort: like.options.effort },
    format: "",
    schema: "",
    results: {},
  };
}

/** The shown messages, from the first to the last. */
export function toPath({ messages, chosen }: Conversation): readonly Message[] {
  const followers = Map.groupBy(messages, ({ parent }) => parent ?? "");
  const path: Message[] = [];
  let at = "";
  for (;;) {
    const group = followers.get(at) ?? [];
    const next = group.find(({ id }) => id === chosen[at]) ?? group.at(-1);
    if (next === undefined || path.length > messages.length) return path;
    path.push(next);
    at = next.id;
  }
}

export function siblingsOf({ messages }: Conversation, message: Message): readonly Message[] {
  return messages.filter(({ parent }) => parent === message.parent);
}

/** Adds a message and selects it. */
export function add(conversation: Conversation, message: Message): Conversation {
  const messages = [...conversation.messages, message];
  return choose({ ...conversation, messages, updated: Date.now() }, message);
}

export function choose(conversation: Conversation, { id, parent }: Message): Conversation {
  return { ...conversation, chosen: { ...conversation.chosen, [parent ?? ""]: id } };
}

export function replace(conversation: Conversation, message: Message): Conversation {
  const messages = conversation.messages.map((each) => (each.id === message.id ? message : each));
  return { ...conversation, messages };
}

/**
 * Merges fields of a chat. Fields that this tab has not changed since it read or stored them are taken from storage: another tab
 * may have renamed the chat.
 */
export function mergeFields(
  stored: Conversation,
  own: Conversation,
  before: Conversation,
): Conversation {
  const kept = Object.entries(own).filter(
    ([name, value]) => value !== Reflect.get(before, name) || !Object.hasOwn(stored, name),
  );
  const gone = new Set(Object.keys(before).filter((name) => !Object.hasOwn(own, name)));
  const others = Object.entries(stored).filter(([name]) => !gone.has(name));
  return { ...own, ...Object.fromEntries([...others, ...kept]) };
}

/**
 * Merges the messages of a conversation that two tabs write: a message added by one of them becomes a sibling.
 *
 * @param isChanged whether this tab has changed a message. The stored version of any other is as new, or newer.
 */
export function mergeMessages(
  stored: readonly Message[],
  own: readonly Message[],
  isChanged: (message: Message) => boolean,
): readonly Message[] {
  const merged = new Map(stored.map((message) => [message.id, message]));
  for (const message of own) {
    if (!merged.has(message.id) || isChanged(message)) merged.set(message.id, message);
  }
  return [...merged.values()];
}

const TITLE_LENGTH = 60;

export function toTitle(question: string): string {
  const line = question.trim().split("\n")[0] ?? "";
  return line.length > TITLE_LENGTH ? `${line.slice(0, TITLE_LENGTH - 1)}…` : line || "New chat";
}

/** Calls without a result. */
export function openCalls(answer: Answer) {
  return answer.parts
    .filter((part) => part.type === "call")
    .filter((part) => part.result === undefined);
}

/** Whether the answer's text or thought ended early, so that the model can continue it. */
export function isUnfinished({ status, parts }: Answer): boolean {
  const last = parts.at(-1);
  return status !== "done" && status !== "running" && last !== undefined && "text" in last;
}

/** Whether all calls of the answer have results that were not sent to the model. */
export function canContinue(answer: Answer): boolean {
  return answer.parts.at(-1)?.type === "call" && openCalls(answer).length === 0;
}
