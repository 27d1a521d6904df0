/** Converts a Harmony conversation to OpenChatML (HIP-1), and reports losses. */
import { bodyText, offersFunctions } from "../harmony/body.ts";
import type { Message as HarmonyMessage } from "../harmony/conversation.ts";
import { checkBody } from "./checks.ts";
import { isBuiltIn, isCall, isChannel } from "./document.ts";
import type { Channel, Document, DocumentHeader, Message } from "./document.ts";
import { OpenChatMLError } from "./errors.ts";
import { FrameError } from "./frame.ts";

export interface FromHarmonyOptions {
  /** Default: a header with Harmony's profile. `null`: none. */
  readonly header?: DocumentHeader | null;
  /** Whether a constraint that its body violates becomes a hint. Default false: it is an error. */
  readonly lenient?: boolean;
  /** The ids of calls and replies, by index of the message. Missing ones are generated. */
  readonly callIds?: readonly (string | undefined)[];
}

export interface OpenChatMLResult {
  readonly document: Document;
  /** Names of losses and changes, sorted. */
  readonly lossy: readonly string[];
}

const HARMONY_HEADER: DocumentHeader = {
  version: "2.2",
  profiles: { harmony: { enabled: true } },
};

/**
 * Converts messages. Throws an `OpenChatMLError` for content that the format cannot express.
 *
 * @example
 * ```ts
 * import { fromHarmony, renderOpenChatML } from "harmony-gateway/openchatml";
 *
 * const { document } = fromHarmony([{ role: "user", content: "Hi" }], { header: null });
 * renderOpenChatML(document); // => "<|start|>user<|message|>Hi<|end|>"
 * ```
 */
export function fromHarmony(
  messages: readonly HarmonyMessage[],
  { header = HARMONY_HEADER, lenient = false, callIds = [] }: FromHarmonyOptions = {},
): OpenChatMLResult {
  const lossy = new Set<string>();
  const ids = new Ids(callIds);
  const hasFunctions = offersFunctions(messages);
  const converted = messages.map((message, index) => {
    try {
      const content = toContent(message, hasFunctions, lossy);
      const frame = { ...toFrame(message, lossy), content };
      return checked(withId(frame, ids, callIds[index], lossy), lenient, lossy);
    } catch (error) {
      if (!(error instanceof FrameError)) throw error;
      throw new OpenChatMLError(error.code, error.message, { messageIndex: index });
    }
  });
  return { document: { header, messages: converted }, lossy: [...lossy].toSorted() };
}

function toContent(message: HarmonyMessage, hasFunctions: boolean, lossy: Set<string>): string {
  const { content } = message;
  if (typeof content !== "string" && content.some(({ type }) => type !== "text"))
    lossy.add("parts");
  return bodyText(message, hasFunctions);
}

function toFrame(message: HarmonyMessage, lossy: Set<string>): Omit<Message, "content"> {
  const { role, name } = message;
  if (role === "tool" && name === undefined) throw new FrameError("a tool needs a name");
  const to = toRecipient(message);
  const calls = isCall({ role, ...(to !== undefined && { to }) });
  const channel = toChannel(message, calls ? (to ?? "") : undefined, lossy);
  const isPreamble = role === "assistant" && !calls && message.channel === "commentary";
  return {
    role,
    ...(name !== undefined && { name }),
    ...(to !== undefined && { to }),
    channel: channel ?? "final",
    ...(channel === undefined && { implicitChannel: true as const }),
    ...(isPreamble && { intent: "preamble" }),
    ...toTypes(message.contentType),
    end: calls ? "call" : "end",
  };
}

function toRecipient({ role, recipient }: HarmonyMessage): string | undefined {
  if (role === "tool") return recipient ?? "assistant";
  return recipient === "all" ? undefined : recipient;
}

/** `called`: the tool that the message calls. */
function toChannel(
  { role, channel }: HarmonyMessage,
  called: string | undefined,
  lossy: Set<string>,
): Channel | undefined {
  if (channel !== undefined && !isChannel(channel)) {
    throw new FrameError(`OpenChatML has no channel ${JSON.stringify(channel)}`);
  }
  if (called !== undefined && channel !== "commentary") {
    if (channel === "analysis" && isBuiltIn(called)) return channel;
    lossy.add("moved-to-commentary");
    return "commentary";
  }
  if (channel !== undefined) return channel;
  if (role === "assistant") return "final";
  return role === "tool" ? "commentary" : undefined;
}

function toTypes(contentType: string | undefined): Pick<Message, "constrain" | "contentType"> {
  if (contentType === undefined) return {};
  const marker = "<|constrain|>";
  if (!contentType.startsWith(marker)) return { contentType: contentType.trim() };
  return { constrain: contentType.slice(marker.length).trim() };
}

function withId(
  message: Message,
  ids: Ids,
  known: string | undefined,
  lossy: Set<string>,
): Message {
  const { role, name = "", to = "" } = message;
  if (isCall(message)) {
    const id = ids.ofCall(to, known);
    if (known !== undefined && id !== known) lossy.add("call-id");
    return { ...message, callId: id };
  }
  if (role !== "tool") return message;
  const { id, isOrphan } = ids.ofReply(name, known);
  if (isOrphan) lossy.add("orphan-reply");
  return { ...message, callId: id };
}

/** Generates ids, and assigns replies to the calls of each tool in order. */
class Ids {
  readonly #taken: Set<string>;
  /** Ids of unanswered calls by tool, oldest first. */
  readonly #open = new Map<string, Set<string>>();
  /** The ids in the document of the last call with a given id. */
  readonly #written = new Map<string, string>();
  #calls = 0;
  #orphans = 0;

  constructor(known: readonly (string | undefined)[]) {
    this.#taken = new Set(known.filter((id) => id !== undefined));
  }

  /** The id of a call. Data sets may reuse an id in each turn, but ids of a document must be unique. */
  ofCall(tool: string, known: string | undefined): string {
    const isNew = known !== undefined && !this.#written.has(known);
    const id = isNew ? known : this.#make(() => `call_${++this.#calls}`);
    if (known !== undefined) this.#written.set(known, id);
    const open = this.#open.get(tool) ?? new Set();
    this.#open.set(tool, open.add(id));
    return id;
  }

  ofReply(tool: string, known: string | undefined): { id: string; isOrphan: boolean } {
    const open = this.#open.get(tool);
    const [oldest] = open ?? [];
    const id = known === undefined ? oldest : (this.#written.get(known) ?? known);
    if (id === undefined)
      return { id: this.#make(() => `orphan_${++this.#orphans}`), isOrphan: true };
    open?.delete(id);
    return { id, isOrphan: false };
  }

  #make(next: () => string): string {
    let id = next();
    while (this.#taken.has(id)) id = next();
    return id;
  }
}

function checked(message: Message, lenient: boolean, lossy: Set<string>): Message {
  try {
    checkBody(message);
    return message;
  } catch (error) {
    const { constrain, ...rest } = message;
    if (!lenient || constrain === undefined) throw error;
    lossy.add("constraint-demoted");
    const hinted = { ...rest, contentType: constrain };
    checkBody(hinted);
    return hinted;
  }
}
