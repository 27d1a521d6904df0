/** Converts Harmony messages to a Chat Completions request, and reports losses. */
import { splitThought } from "../../../api/request/thought-tag.ts";
import { bodyText, offersFunctions } from "../../../harmony/body.ts";
import type {
  ContentPart,
  DeveloperContent,
  Message,
  SystemContent,
} from "../../../harmony/conversation.ts";
import { type Json, toCompactJson } from "../../../harmony/json.ts";
import { systemMessage } from "../../../harmony/messages.ts";
import type { SystemOptions } from "../../../harmony/messages.ts";
import type { ChatAssistantMessage, ChatMessage } from "../../../openchatml/index.ts";
import type { Transcript } from "./transcript.ts";

export interface ChatLine {
  /** JSON text. */
  readonly line: string;
  readonly losses: readonly string[];
}

/** Writes a chat line. `system`: the system message that the reader adds by default. */
export function toChatLine(
  transcript: Transcript,
  system: Omit<SystemOptions, "effort">,
): ChatLine {
  const writer = new ChatWriter(transcript, system);
  for (const [index, message] of transcript.messages.entries()) writer.add(message, index);
  return writer.finish();
}

/** An incomplete assistant message: reasoning, then text, then calls. */
type Open = { -readonly [K in keyof ChatAssistantMessage]: ChatAssistantMessage[K] };

/** Names that a request can give an author. */
const NAME = /^[\p{L}\p{N}_.-]{1,64}$/u;

class ChatWriter {
  readonly #transcript: Transcript;
  readonly #system: Omit<SystemOptions, "effort">;
  readonly #hasFunctions: boolean;
  readonly #losses = new Set<string>();
  readonly #chat: ChatMessage[] = [];
  /** Members of the request other than the messages, as JSON text. */
  readonly #members = new Map<string, string>();
  /** Ids of unanswered calls by tool, oldest first. */
  readonly #openCalls = new Map<string, string[]>();
  readonly #taken: Set<string>;
  #open: Open | undefined;
  #made = 0;

  constructor(transcript: Transcript, system: Omit<SystemOptions, "effort">) {
    this.#transcript = transcript;
    this.#system = system;
    this.#hasFunctions = offersFunctions(transcript.messages);
    this.#taken = new Set(transcript.callIds.filter((id) => id !== undefined));
  }

  add(message: Message, index: number): void {
    switch (message.role) {
      case "system":
      case "developer":
        this.#flush();
        if (message.role === "system" && index > 0) this.#losses.add("system-part");
        return this.#instructions(message, message.role);
      case "user":
        this.#flush();
        if (message.name !== undefined && !NAME.test(message.name)) this.#losses.add("name");
        if (message.recipient ?? message.channel ?? message.contentType) this.#losses.add("header");
        this.#chat.push({
          role: "user",
          content: this.#text(message),
          ...(message.name !== undefined && { name: message.name }),
        });
        return;
      case "assistant":
        if (message.name !== undefined) this.#losses.add("name");
        return this.#assistant(message, index);
      case "tool":
        this.#flush();
        return this.#result(message, index);
      default:
        message.role satisfies never;
    }
  }

  finish(): ChatLine {
    this.#flush();
    // The reader adds a system message to a request without one, and rejects an empty list of messages.
    if (!this.#transcript.messages.some(({ role }) => role === "system")) {
      this.#losses.add("system-added");
    }
    if (this.#chat.length === 0) this.#chat.push({ role: "developer", content: "" });
    const { cut, messages } = this.#transcript;
    const isOpen = cut.has(messages.length - 1);
    const chat = this.#chat.map((message, index) => {
      return isOpen && index === this.#chat.length - 1 ? { ...message, partial: true } : message;
    });
    const members = [...this.#members].map(([name, json]) => `,${JSON.stringify(name)}:${json}`);
    return {
      line: `{"messages":${JSON.stringify(chat)}${members.join("")}}`,
      losses: [...this.#losses],
    };
  }

  #text(message: Message): string {
    return bodyText(message, this.#hasFunctions);
  }

  #flush(): void {
    if (this.#open !== undefined) this.#chat.push(this.#open);
    this.#open = undefined;
  }

  // ---- System and developer ----------------------------------------------------------------------

  #instructions(message: Message, role: "system" | "developer"): void {
    const { content } = message;
    if (message.name ?? message.recipient ?? message.channel ?? message.contentType) {
      this.#losses.add("header");
    }
    const [part, ...others] = typeof content === "string" ? [] : content;
    if (part?.type === "system" && others.length === 0) return this.#systemPart(part);
    if (part?.type === "developer" && others.length === 0) return this.#developerPart(part);
    // The reader adds a heading to such text.
    this.#losses.add("plain-instructions");
    this.#pushInstructions(role, this.#text(message));
  }

  #pushInstructions(role: "system" | "developer", content: string): void {
    if (content === "") this.#losses.add("empty-message");
    const isLeading = this.#isLeading();
    if (isLeading && this.#chat.length > 0) this.#losses.add("instructions-joined");
    this.#chat.push({ role, content });
  }

  /** Whether only instructions have been read. */
  #isLeading(): boolean {
    return this.#chat.every(({ role }) => role === "system" || role === "developer");
  }

  #systemPart(part: SystemContent): void {
    const { effort, namespaces = [], ...rest } = part;
    if (namespaces.length > 0) this.#losses.add("builtin-tools");
    if (effort !== "medium" && effort !== undefined) {
      this.#members.set("reasoning_effort", JSON.stringify(effort));
    }
    const known = systemMessage({ ...this.#system, effort: effort ?? "medium" });
    const expected = typeof known.content === "string" ? undefined : known.content[0];
    const isKnown = expected?.type === "system" && isSame({ ...rest, effort }, expected);
    if (!isKnown) this.#losses.add("system-part");
  }

  #developerPart(part: DeveloperContent): void {
    const { instructions, namespaces = [], responseFormats = [] } = part;
    // Tools and formats belong to the first developer message, which joins all instructions before the user.
    const isOffering = namespaces.length > 0 || responseFormats.length > 0;
    const isFirst = this.#chat.length === 0 && this.#members.get("tools") === undefined;
    if (isOffering && !isFirst) this.#losses.add("instructions-joined");
    if (instructions !== undefined) this.#pushInstructions("developer", instructions);
    const functions = namespaces.flatMap(({ key, functions: each }) =>
      key === "functions" ? each : [],
    );
    const others = namespaces.some(({ key, name, description }) => {
      return key !== "functions" || name !== key || description !== undefined;
    });
    if (others || this.#members.has("tools")) this.#losses.add("tool-namespaces");
    if (functions.length > 0) {
      const tools = functions.map(({ name, description, parameters }) => {
        const about = description === "" ? "" : `,"description":${JSON.stringify(description)}`;
        const schema = parameters == null ? "" : `,"parameters":${toCompactJson(parameters)}`;
        return `{"type":"function","function":{"name":${JSON.stringify(name)}${about}${schema}}}`;
      });
      this.#members.set("tools", `[${tools.join(",")}]`);
    }
    const [format, ...rest] = responseFormats;
    if (format !== undefined) this.#members.set("response_format", formatJson(format));
    if (rest.length > 0) this.#losses.add("response-formats");
  }

  // ---- The assistant and its tools ---------------------------------------------------------------

  #assistant(message: Message, index: number): void {
    const { recipient, channel, contentType } = message;
    const content = this.#text(message);
    const open = this.#open;
    const isCall = recipient !== undefined;
    // White space before a call is not text.
    const said = channel === "commentary" ? content.trim() : content;
    if (!isCall && said === "") this.#losses.add("empty-message");
    if (recipient !== undefined && !["all", "assistant", "user"].includes(recipient)) {
      return this.#call(message, recipient, content, index);
    }
    if (contentType ?? recipient) this.#losses.add("header");
    if (channel === "analysis") {
      if (open?.content != null || open?.tool_calls !== undefined) this.#flush();
      if (this.#open?.reasoning !== undefined) this.#losses.add("reasoning-joined");
      const before = this.#open?.reasoning;
      this.#open = {
        role: "assistant",
        content: null,
        reasoning: before === undefined ? content : `${before}\n\n${content}`,
      };
      return;
    }
    if (open?.content != null || open?.tool_calls !== undefined) this.#flush();
    this.#open = { role: "assistant", ...this.#open, content };
    if (channel !== "final" && channel !== "commentary") this.#losses.add("header");
    if (splitThought(content).isTagged) this.#losses.add("reasoning-tag");
    // The reader takes text without a following call for an answer.
    const next = this.#transcript.messages[index + 1];
    const isBeforeCall = next?.role === "assistant" && next.recipient !== undefined;
    if ((channel === "commentary") !== isBeforeCall) this.#losses.add("preamble");
    if (channel !== "commentary") this.#flush();
  }

  #call(message: Message, recipient: string, args: string, index: number): void {
    const { channel, contentType } = message;
    const isPlain = recipient.startsWith("functions.");
    if (!isPlain) this.#losses.add("builtin-call");
    if (channel !== "commentary" || contentType !== "<|constrain|>json") this.#losses.add("header");
    const id = this.#transcript.callIds[index] ?? this.#makeId();
    const open = this.#openCalls.get(recipient);
    if (open === undefined) this.#openCalls.set(recipient, [id]);
    else open.push(id);
    const call = {
      id,
      type: "function" as const,
      function: { name: recipient.replace(/^functions\./, ""), arguments: args },
    };
    const before = this.#open ?? { role: "assistant", content: null };
    this.#open = { ...before, tool_calls: [...(before.tool_calls ?? []), call] };
  }

  #result(message: Message, index: number): void {
    const { name = "", recipient, channel, contentType } = message;
    if (recipient !== "assistant" || channel !== "commentary" || contentType !== undefined) {
      this.#losses.add("header");
    }
    if (!name.startsWith("functions.")) this.#losses.add("builtin-call");
    const open = this.#openCalls.get(name) ?? [];
    const known = this.#transcript.callIds[index];
    const id = known ?? open[0];
    const at = open.indexOf(id ?? "");
    if (at >= 0) open.splice(at, 1);
    const answer = { role: "tool" as const, content: this.#text(message) };
    if (id !== undefined && at >= 0) {
      this.#chat.push({ ...answer, tool_call_id: id });
      return;
    }
    this.#losses.add("orphan-reply");
    const orphan = { ...answer, tool_call_id: id ?? this.#makeId() };
    this.#chat.push({ ...orphan, name: name.replace(/^functions\./, "") });
  }

  #makeId(): string {
    let id;
    do id = `call_${++this.#made}`;
    while (this.#taken.has(id));
    return id;
  }
}

function formatJson(format: { name: string; description?: string; schema: Json }): string {
  const { name, description = "", schema } = format;
  const about = description === "" ? "" : `,"description":${JSON.stringify(description)}`;
  const body = `"name":${JSON.stringify(name)}${about},"schema":${toCompactJson(schema)}`;
  return `{"type":"json_schema","json_schema":{${body}}}`;
}

function isSame(one: object, other: Extract<ContentPart, { type: "system" }>): boolean {
  return sorted(one) === sorted(other);
}

function sorted(value: object): string {
  return JSON.stringify(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
