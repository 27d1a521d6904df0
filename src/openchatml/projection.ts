/** Converts a document to JSON and to a Chat Completions history, and reads the envelope of tool replies. */
import { isCall } from "./document.ts";
import type { Document, Message } from "./document.ts";

/** One object for each message; analysis directly before an assistant message becomes its `thinking`. */
export interface JsonMessage {
  readonly role: Message["role"];
  readonly channel: Message["channel"];
  readonly name?: string;
  readonly call_id?: string;
  readonly intent?: string;
  readonly content_type?: string;
  readonly thinking?: string;
  readonly content?: string;
  readonly tool_call?: {
    readonly id: string;
    readonly recipient: string;
    readonly content_type?: string;
    readonly arguments: string;
  };
}

/**
 * @example
 * ```ts
 * import { parseOpenChatML, toJsonMessages } from "harmony-gateway/openchatml";
 *
 * toJsonMessages(parseOpenChatML("<|start|>user<|message|>Hi<|end|>")); // => [{ role: "user", channel: "final", content: "Hi" }]
 * ```
 */
export function toJsonMessages({ messages }: Document): JsonMessage[] {
  const projected: JsonMessage[] = [];
  let analysis: Message[] = [];
  for (const message of messages) {
    if (isAnalysis(message)) {
      analysis.push(message);
      continue;
    }
    if (message.role === "assistant") {
      projected.push({ ...toJsonMessage(message), ...thinkingOf(analysis) });
    } else {
      projected.push(...analysis.map(toJsonMessage), toJsonMessage(message));
    }
    analysis = [];
  }
  return [...projected, ...analysis.map(toJsonMessage)];
}

function isAnalysis(message: Message): boolean {
  return message.role === "assistant" && message.channel === "analysis" && !isCall(message);
}

function thinkingOf(analysis: readonly Message[]): { thinking?: string } {
  if (analysis.length === 0) return {};
  return { thinking: analysis.map(({ content }) => content).join("\n\n") };
}

function toJsonMessage(message: Message): JsonMessage {
  const { role, channel, name, callId = "", to = "", intent, contentType, constrain } = message;
  const type = constrain ?? contentType;
  const typed = type === undefined ? {} : { content_type: type };
  const common = { role, channel, ...(name !== undefined && { name }), ...(intent && { intent }) };
  if (isCall(message)) {
    const call = { id: callId, recipient: to, ...typed, arguments: message.content };
    return { ...common, tool_call: call };
  }
  return {
    ...common,
    ...(role === "tool" && { call_id: callId }),
    ...typed,
    content: message.content,
  };
}

/** A message of Chat Completions, with reasoning in OpenRouter's format. */
export type ChatMessage =
  | {
      readonly role: "system" | "developer" | "user";
      readonly content: string;
      readonly name?: string;
    }
  | {
      readonly role: "tool";
      readonly tool_call_id: string;
      readonly content: string;
      /** Set for a tool whose call is not in the history. */
      readonly name?: string;
    }
  | ChatAssistantMessage;

export interface ChatAssistantMessage {
  readonly role: "assistant";
  readonly content: string | null;
  readonly name?: string;
  readonly reasoning?: string;
  readonly tool_calls?: readonly {
    readonly id: string;
    readonly type: "function";
    readonly function: { readonly name: string; readonly arguments: string };
  }[];
}

/**
 * Hidden commentary is omitted: a chat client would show it.
 *
 * @example
 * ```ts
 * import { parseOpenChatML, toChatMessages } from "harmony-gateway/openchatml";
 *
 * toChatMessages(parseOpenChatML("<|start|>user<|message|>Hi<|end|>")); // => [{ role: "user", content: "Hi" }]
 * ```
 */
export function toChatMessages({ messages }: Document): ChatMessage[] {
  const chat: ChatMessage[] = [];
  let open: ChatAssistantMessage | undefined;
  const flush = () => {
    if (open !== undefined) chat.push(open);
    open = undefined;
  };
  for (const message of messages) {
    const { role, channel, name, callId = "", to = "", intent, content } = message;
    const named = name === undefined ? {} : { name };
    if (role === "tool") {
      flush();
      chat.push({ role, tool_call_id: callId, content });
    } else if (role !== "assistant") {
      flush();
      chat.push({ role, content, ...named });
    } else if (isCall(message)) {
      const call = {
        id: callId,
        type: "function" as const,
        function: { name: to.replace(/^functions\./, ""), arguments: content },
      };
      open = { role, content: null, ...open, tool_calls: [...(open?.tool_calls ?? []), call] };
    } else if (channel === "analysis") {
      if (open?.content != null || open?.tool_calls !== undefined) flush();
      const reasoning: string =
        open?.reasoning === undefined ? content : `${open.reasoning}\n\n${content}`;
      open = { role, content: null, ...named, reasoning };
    } else if (channel === "commentary") {
      if (intent !== "preamble") continue;
      if (open?.content != null || open?.tool_calls !== undefined) flush();
      open = { role, ...open, ...named, content };
    } else {
      if (open?.content != null || open?.tool_calls !== undefined) flush();
      chat.push({ role, ...open, ...named, content });
      open = undefined;
    }
  }
  flush();
  return chat;
}

/** A tool's reply. */
export interface ToolReply {
  readonly ok: boolean;
  /** The error's code, `E-TOOL-TIMEOUT` for instance. */
  readonly code?: string;
  /** Parsed if the body is JSON, otherwise its text. */
  readonly content: unknown;
  /** The source of the content, as stated by the tool. */
  readonly provenance?: unknown;
}

/**
 * Reads the recommended envelope `{ok, content, error, provenance}`. A body without a boolean `ok` is plain content.
 *
 * @example
 * ```ts
 * import { readToolReply } from "harmony-gateway/openchatml";
 *
 * readToolReply('{"ok": false, "error": "E-TOOL-TIMEOUT"}'); // => { ok: false, code: "E-TOOL-TIMEOUT", content: null }
 * ```
 */
export function readToolReply(body: string): ToolReply {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    return { ok: true, content: body };
  }
  if (typeof value !== "object" || value === null || !("ok" in value)) {
    return { ok: true, content: value };
  }
  const { ok } = value;
  if (typeof ok !== "boolean") return { ok: true, content: value };
  const content = "content" in value ? (value.content ?? null) : null;
  const code = "error" in value ? codeOf(value.error) : undefined;
  const origin = "provenance" in value ? { provenance: value.provenance } : {};
  return { ok, ...(code !== undefined && { code }), content, ...origin };
}

function codeOf(error: unknown): string | undefined {
  if (typeof error === "string") return error;
  if (typeof error !== "object" || error === null || !("code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}
