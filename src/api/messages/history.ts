/**
 * Converts the messages of a request to history entries. Text blocks become text, unsupported blocks are
 * skipped and reported, and consecutive assistant messages become one turn. Images and files are read before.
 */
import { sinceSummary } from "../reply/shorten-history.ts";
import { summaryText } from "../reply/summary-text.ts";
import type { MediaRule, MediaRules } from "../request/content-text.ts";
import { createArgumentsReader, kindOf, toAssistantParts, toUserEntries } from "./read-blocks.ts";
import type { AssistantPart, HistoryEntry } from "./history-entry.ts";
import type { CountRequest, WireMessage } from "./request.ts";
import type { Block, ResultBlock } from "./block-schema.ts";
import {
  isMedia,
  type MediaSlot,
  type MediaTexts,
  partsOf,
  type TextPart,
} from "../media/media-part.ts";
import type { RequestMedia } from "../media/request-media.ts";

interface History {
  readonly entries: readonly HistoryEntry[];
  /** Names of tools that were called or referenced. Deferred tools among them are loaded. */
  readonly references: ReadonlySet<string>;
  /** Definitions of tools that messages add. */
  readonly added: readonly AddedTool[];
  /** Names of tools that messages have removed, and not added again. */
  readonly removed: ReadonlySet<string>;
  /** Kinds of blocks that were skipped. */
  readonly skipped: ReadonlySet<string>;
}

export interface AddedTool {
  readonly definition: unknown;
  /** The definition's field, for errors. */
  readonly param: string;
}

interface HistoryOptions {
  /** The request as text, for reading arguments that `JSON.parse` would change. */
  readonly bodyText: () => string;
  readonly mediaRules: MediaRules;
}

/** Throws a `RequestError` for media if the operator refuses them. */
export function readHistory(messages: readonly WireMessage[], options: HistoryOptions): History {
  const entries: HistoryEntry[] = [];
  const references = new Set<string>();
  const skipped = new Set<string>();
  const added: AddedTool[] = [];
  const removed = new Set<string>();
  const toArguments = createArgumentsReader(options.bodyText);
  const lastUser = messages.findLastIndex(({ role }) => role === "user");
  let open: AssistantPart[] | undefined;

  for (const [index, { role, content, clear_at: clearAt }] of messages.entries()) {
    const param = `messages[${index}].content`;
    const blocks =
      typeof content === "string" ? [{ type: "text" as const, text: content }] : content;
    for (const block of blocks) noteReferences(block, references);
    if (role !== "assistant") open = undefined;
    switch (role) {
      case "system":
        // A reminder for a single user message, which the client keeps sending.
        if (clearAt === "next_user_message" && index < lastUser) break;
        entries.push(...toInstructions(blocks, skipped));
        entries.push(...toToolChanges(blocks, param, { added, removed }));
        break;
      case "user":
        entries.push(...toUserEntries(blocks, { param, mediaRules: options.mediaRules, skipped }));
        break;
      case "assistant":
        for (const { summary, from, to } of cutAtSummaries(blocks)) {
          if (summary !== undefined) {
            entries.push({ type: "summary", text: summary });
            open = undefined;
          }
          if (from === to) continue;
          if (open === undefined) entries.push({ type: "assistant", parts: (open = []) });
          const path = ["messages", index, "content"];
          const run = blocks.slice(from, to);
          open.push(...toAssistantParts(run, { path, from, toArguments, skipped }));
        }
        break;
      default:
        role satisfies never;
    }
  }
  return { entries: sinceCompaction(entries), references, added, removed, skipped };
}

/** Removes the entries that the last summary replaces. Calls whose results come after it stay. */
function sinceCompaction(entries: readonly HistoryEntry[]): readonly HistoryEntry[] {
  return sinceSummary(entries, (entry, answered) => {
    if (["instructions", "user", "tool", "found"].includes(entry.type)) return [entry];
    if (entry.type !== "assistant") return [];
    const parts = entry.parts.filter((part) => part.type === "call" && answered.has(part.callId));
    return parts.length === 0 ? [] : [{ type: "assistant", parts }];
  });
}

/** Splits blocks into runs. Each but the first follows a summary. */
function cutAtSummaries(
  blocks: readonly Block[],
): { readonly summary?: string; readonly from: number; readonly to: number }[] {
  const cuts = blocks.flatMap((block, index) => {
    const summary = block.type === "compaction" ? block.content : undefined;
    return summary ? [{ summary: summaryText(summary), index }] : [];
  });
  const ends = [...cuts.map(({ index }) => index), blocks.length];
  return [
    { from: 0, to: ends[0] ?? 0 },
    ...cuts.map(({ summary, index }, at) => ({ summary, from: index + 1, to: ends[at + 1] ?? 0 })),
  ];
}

/**
 * Claude Code sends this block first. It differs between sessions, so it would prevent any hit in the
 * engine's prefix cache.
 */
const BILLING_HEADER = /^x-anthropic-billing-header/;

/** The text of the `system` field. */
export function systemText(
  system: string | readonly { readonly type: string; readonly text?: string | null | undefined }[],
): string {
  // In a string, the instructions follow the header.
  if (typeof system === "string") return system.replace(/^x-anthropic-billing-header[^\n]*\n*/, "");
  return joinInstructions(system.map(({ type, text }) => (type === "text" ? (text ?? "") : "")));
}

function joinInstructions(texts: readonly string[]): string {
  return texts.filter((text) => text !== "" && !BILLING_HEADER.test(text)).join("\n\n");
}

function noteReferences(block: Block, references: Set<string>): void {
  switch (block.type) {
    case "tool_use":
      references.add(block.name);
      break;
    case "tool_result":
      if (typeof block.content === "string") break;
      for (const each of block.content ?? []) {
        if (each.type === "tool_reference") references.add(each.tool_name);
      }
      break;
    case "tool_search_tool_result":
      for (const each of block.content?.tool_references ?? []) references.add(each.tool_name);
      break;
    case "tool_addition":
      if (block.tool.name) references.add(block.tool.name);
      break;
    default:
  }
}

function toInstructions(blocks: readonly Block[], skipped: Set<string>): HistoryEntry[] {
  const texts: string[] = [];
  for (const block of blocks) {
    if (block.type === "text") texts.push(block.text);
    else if (block.type !== "tool_addition" && block.type !== "tool_removal") {
      skipped.add(kindOf(block));
    }
  }
  const text = joinInstructions(texts);
  return text === "" ? [] : [{ type: "instructions", text }];
}

/**
 * A block that adds a tool of the request's `tools` again, or removes one, only names the tool: its definition keeps
 * its place in the prompt.
 */
function toToolChanges(
  blocks: readonly Block[],
  param: string,
  { added, removed }: { readonly added: AddedTool[]; readonly removed: Set<string> },
): HistoryEntry[] {
  const entries: HistoryEntry[] = [];
  for (const [index, block] of blocks.entries()) {
    if (block.type === "tool_addition" && block.tool.definition !== undefined) {
      const { definition } = block.tool;
      const name: unknown = Reflect.get(Object(definition), "name");
      if (typeof name === "string") {
        removed.delete(name);
        entries.push({ type: "found", names: [name] });
      }
      entries.push({ type: "tool", index: added.length });
      added.push({ definition, param: `${param}[${index}].tool.definition` });
    } else if (block.type === "tool_addition" || block.type === "tool_removal") {
      const { name } = block.tool;
      if (!name) continue;
      const isRemoval = block.type === "tool_removal";
      if (!isRemoval) entries.push({ type: "found", names: [name] });
      if (isRemoval) removed.add(name);
      else if (!removed.delete(name)) continue;
      const change = isRemoval ? "not available any more" : "available again";
      entries.push({ type: "instructions", text: `From here on, the tool ${name} is ${change}.` });
    }
  }
  return entries;
}

// Images and files

/** The request with texts in place of its readable images and files. Rejects as {@link RequestMedia.read} does. */
export async function withMediaTexts<R extends Pick<CountRequest, "messages">>(
  request: R,
  { media, mediaRules }: { readonly media: RequestMedia; readonly mediaRules: MediaRules },
  signal: AbortSignal,
): Promise<R> {
  // Before a summary, only the user's messages are in the prompt.
  const from = request.messages.findLastIndex((message) => hasSummary(message));
  const slots = request.messages.flatMap(({ role, content }, index) => {
    const inPrompt = index >= from || role === "user";
    return inPrompt ? slotsOf(content, `messages[${index}].content`, mediaRules, index < from) : [];
  });
  const texts = await media.read(slots, signal);
  if (texts.size === 0) return request;
  return { ...request, messages: request.messages.map((message) => withTexts(message, texts)) };
}

function hasSummary({ content }: WireMessage): boolean {
  return partsOf(content).some((block) => block.type === "compaction" && Boolean(block.content));
}

function slotsOf(
  content: WireMessage["content"],
  param: string,
  mediaRules: MediaRules,
  isBeforeSummary: boolean,
): MediaSlot[] {
  return partsOf(content).flatMap((block, index) => {
    const field = `${param}[${index}]`;
    if (block.type !== "tool_result") return mediaIn(block, field, mediaRules.inMessages);
    if (isBeforeSummary) return [];
    return partsOf(block.content).flatMap((each, at) =>
      mediaIn(each, `${field}.content[${at}]`, mediaRules.inResults),
    );
  });
}

function mediaIn(block: Block | ResultBlock, param: string, mediaRule: MediaRule): MediaSlot[] {
  if (!isMedia(block)) return [];
  const inner = block.type === "document" ? partsOf(block.source?.content) : [];
  return [block, ...inner].map((part) => ({ part, param, mediaRule }));
}

function withTexts(message: WireMessage, texts: MediaTexts): WireMessage {
  const { content } = message;
  if (typeof content === "string") return message;
  return {
    ...message,
    content: content.map((block): Block => {
      if (block.type !== "tool_result") return toText(block, texts);
      if (typeof block.content === "string" || !block.content) return block;
      return { ...block, content: block.content.map((each) => toText(each, texts)) };
    }),
  };
}

function toText<B extends Block | ResultBlock>(block: B, texts: MediaTexts): B | TextPart {
  const text = texts.get(block);
  if (text !== undefined) return { type: "text", text };
  if (block.type !== "document" || typeof block.source?.content !== "object") return block;
  const { source } = block;
  const content = partsOf(source.content).map((each) => {
    const inner = texts.get(each);
    return inner === undefined ? each : { type: "text", text: inner };
  });
  return { ...block, source: { ...source, content } };
}
