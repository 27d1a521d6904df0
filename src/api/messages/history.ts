/**
 * Converts the messages of a request to history entries. Text blocks become text, unsupported blocks are
 * skipped and reported, and consecutive assistant messages become one turn.
 */
import { memberText } from "../../harmony/json-member.ts";
import { type Json, parseJson, toCompactJson } from "../../harmony/json.ts";
import type { MediaRules } from "../request/media.ts";
import { jsonAt } from "../request/ordered-json.ts";
import { splitThought } from "../request/thought-tag.ts";
import { summaryText } from "../reply/summary-text.ts";
import type { KeptCall } from "../../store/kept-call.ts";
import { mediaText, resultText } from "./block-text.ts";
import type { Block, WireMessage } from "./request.ts";

export type HistoryEntry =
  | { readonly type: "instructions"; readonly text: string }
  | { readonly type: "user"; readonly text: string }
  /** Of everything before it. */
  | { readonly type: "summary"; readonly text: string }
  | {
      readonly type: "result";
      readonly toolUseId: string;
      readonly text: string;
      readonly param: string;
    }
  | AssistantEntry;

export interface AssistantEntry {
  readonly type: "assistant";
  /** In the order the model wrote them. */
  readonly parts: readonly AssistantPart[];
}

export type AssistantPart =
  | ThinkingPart
  | { readonly type: "text"; readonly text: string }
  | ToolUse
  | BuiltinCall;

/** A call that the gateway ran for the model. The client's copy does not contain everything that the model saw. */
export interface BuiltinCall {
  readonly type: "builtin-call";
  /** The encrypted call. Empty: it is in a thinking block after it, or lost. */
  readonly sealed: string;
  /** Undefined: not restored. */
  readonly call: KeptCall | undefined;
}

/** The index from which texts belong to the answer: text before a call that the gateway ran is a preamble. */
export function answerFrom(parts: readonly AssistantPart[]): number {
  return parts.findLastIndex(({ type }) => type === "builtin-call") + 1;
}

export interface ThinkingPart {
  readonly type: "thinking";
  /** Readable text of the encrypted thinking. Often empty. */
  readonly text: string;
  /** The signature, or the data of a redacted block. Empty if there is none. */
  readonly sealed: string;
}

export interface ToolUse {
  readonly type: "call";
  readonly id: string;
  readonly name: string;
  /** The arguments as JSON text. */
  readonly args: string;
}

export interface History {
  readonly entries: readonly HistoryEntry[];
  /** Names of tools that were called or referenced, which loads deferred tools. */
  readonly references: ReadonlySet<string>;
  /** Kinds of blocks that were skipped. */
  readonly skipped: ReadonlySet<string>;
}

export interface HistoryOptions {
  /** The request as text, for reading arguments that `JSON.parse` would change. */
  readonly bodyText: () => string;
  readonly media: MediaRules;
}

/** Throws a `RequestError` for media if the operator refuses them. */
export function toHistory(messages: readonly WireMessage[], options: HistoryOptions): History {
  const entries: HistoryEntry[] = [];
  const references = new Set<string>();
  const skipped = new Set<string>();
  const toArguments = createArgumentsReader(options.bodyText);
  let open: AssistantPart[] | undefined;

  for (const [index, { role, content }] of messages.entries()) {
    const param = `messages[${index}].content`;
    const blocks =
      typeof content === "string" ? [{ type: "text" as const, text: content }] : content;
    for (const block of blocks) noteReferences(block, references);
    if (role !== "assistant") open = undefined;
    switch (role) {
      case "system":
        entries.push(...toInstructions(blocks, skipped));
        break;
      case "user":
        entries.push(...toUserEntries(blocks, { param, media: options.media, skipped }));
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
  return { entries: sinceSummary(entries), references, skipped };
}

/** From the last summary on. Instructions before it stay, and calls whose results come after it. */
function sinceSummary(entries: readonly HistoryEntry[]): readonly HistoryEntry[] {
  const at = entries.findLastIndex(({ type }) => type === "summary");
  if (at < 0) return entries;
  const rest = entries.slice(at);
  const answered = new Set(
    rest.map((entry) => (entry.type === "result" ? entry.toolUseId : undefined)),
  );
  const kept = entries.slice(0, at).flatMap((entry): HistoryEntry[] => {
    if (entry.type === "instructions") return [entry];
    if (entry.type !== "assistant") return [];
    const parts = entry.parts.filter((part) => part.type === "call" && answered.has(part.id));
    return parts.length === 0 ? [] : [{ type: "assistant", parts }];
  });
  return [...kept, ...rest];
}

/** Runs of blocks, each after a summary but for the first. */
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
    // References are resolved where the tools are offered.
    else if (block.type !== "tool_addition") skipped.add(kindOf(block));
  }
  const text = joinInstructions(texts);
  return text === "" ? [] : [{ type: "instructions", text }];
}

interface UserOptions {
  readonly param: string;
  readonly media: MediaRules;
  readonly skipped: Set<string>;
}

/** Results and texts in the order sent. Adjacent texts become one message. */
function toUserEntries(
  blocks: readonly Block[],
  { param, media, skipped }: UserOptions,
): HistoryEntry[] {
  const entries: HistoryEntry[] = [];
  let texts: string[] = [];
  const endText = () => {
    const text = texts.join("\n\n");
    if (text !== "") entries.push({ type: "user", text });
    texts = [];
  };
  for (const [index, block] of blocks.entries()) {
    switch (block.type) {
      case "text":
        if (block.text !== "") texts.push(block.text);
        break;
      case "image":
      case "document":
      case "search_result":
        texts.push(mediaText(block, `${param}[${index}]`, media.inMessages));
        break;
      case "compaction":
        if (!block.content) break;
        endText();
        entries.push({ type: "summary", text: summaryText(block.content) });
        break;
      case "tool_result":
        endText();
        entries.push({
          type: "result",
          toolUseId: block.tool_use_id,
          text: toResultText(block, { param: `${param}[${index}]`, media, skipped }),
          param: `${param}[${index}]`,
        });
        break;
      default:
        skipped.add(kindOf(block));
    }
  }
  endText();
  return entries;
}

/**
 * Harmony has no error flag. Clients usually describe the error in the text; an error without text gets a
 * description.
 */
function toResultText(
  { content, is_error: isError }: Extract<Block, { type: "tool_result" }>,
  options: UserOptions,
): string {
  const text = typeof content === "string" ? content : joinResult(content ?? [], options);
  return text === "" && isError ? "Error" : text;
}

function joinResult(
  blocks: readonly Parameters<typeof resultText>[0][],
  { param, media, skipped }: UserOptions,
): string {
  const texts: string[] = [];
  for (const [index, block] of blocks.entries()) {
    const text = resultText(block, `${param}.content[${index}]`, media.inResults);
    if (text === undefined) skipped.add(block.type === "unsupported" ? block.kind : block.type);
    else if (text !== "") texts.push(text);
  }
  return texts.join("\n");
}

interface AssistantOptions {
  readonly path: readonly (string | number)[];
  /** The index of the first block in the message. */
  readonly from: number;
  readonly toArguments: ArgumentsReader;
  readonly skipped: Set<string>;
}

function toAssistantParts(
  blocks: readonly Block[],
  { path, from, toArguments, skipped }: AssistantOptions,
): AssistantPart[] {
  const parts: AssistantPart[] = [];
  let isCited = false;
  for (const [index, block] of blocks.entries()) {
    const last = parts.at(-1);
    switch (block.type) {
      case "text":
        // Texts are split into blocks at their citations.
        if (isCited && last?.type === "text") {
          parts[parts.length - 1] = { type: "text", text: last.text + block.text };
        } else if (parts.every(({ type }) => type === "thinking")) {
          parts.push(...splitText(block.text, parts.length > 0));
        } else if (block.text !== "") parts.push({ type: "text", text: block.text });
        isCited = Array.isArray(block.citations) && block.citations.length > 0;
        break;
      case "server_tool_use":
        break;
      case "web_search_tool_result":
      case "web_fetch_tool_result":
      case "code_execution_tool_result": {
        const carriers = block.content.map((each) => each.encrypted_content ?? "");
        const sealed = carriers.find((each) => each !== "") ?? "";
        parts.push({ type: "builtin-call", sealed, call: undefined });
        break;
      }
      case "compaction":
        // A summary was cut off before; this block has none.
        break;
      case "thinking":
        parts.push({
          type: "thinking",
          text: block.thinking ?? "",
          sealed: block.signature ?? "",
        });
        break;
      case "redacted_thinking":
        parts.push({ type: "thinking", text: "", sealed: block.data ?? "" });
        break;
      case "tool_use": {
        const args = toArguments(block.input, [...path, from + index, "input"]);
        parts.push({ type: "call", id: block.id, name: block.name, args });
        break;
      }
      default:
        skipped.add(kindOf(block));
    }
  }
  return parts;
}

/** `hasThinking`: thinking blocks precede the text, and count. */
function splitText(content: string, hasThinking: boolean): AssistantPart[] {
  const { reasoning, text } = splitThought(content);
  const isSent = reasoning !== undefined && !hasThinking;
  return [
    ...(isSent ? [{ type: "thinking", text: reasoning, sealed: "" } as const] : []),
    ...(text === "" ? [] : [{ type: "text", text } as const]),
  ];
}

function kindOf(block: Block): string {
  return block.type === "unsupported" ? block.kind : block.type;
}

// Arguments

/** Returns the arguments at a path of the request as compact JSON text, keys in the order sent. */
type ArgumentsReader = (input: unknown, path: readonly (string | number)[]) => string;

/**
 * For nearly all arguments `JSON.stringify` reproduces the text that was sent. Only otherwise is the body's
 * text parsed again, which takes 10 ms per megabyte.
 */
function createArgumentsReader(bodyText: () => string): ArgumentsReader {
  let messages: { readonly json: Json | undefined } | undefined;
  return (input, path) => {
    const plain = JSON.stringify(input ?? {});
    if (!isChangedByParsing(input)) return plain;
    messages ??= { json: readMessages(bodyText()) };
    const json = jsonAt(messages.json, path.slice(1));
    return json === undefined ? plain : toCompactJson(json);
  };
}

function readMessages(bodyText: string): Json | undefined {
  try {
    return parseJson(memberText(bodyText, "messages") ?? "null");
  } catch {
    // Lone surrogates, which only `JSON.parse` accepts.
    return undefined;
  }
}

/** `JSON.parse` reorders keys that look like integers and rounds large integers. */
function isChangedByParsing(value: unknown): boolean {
  if (typeof value === "number") return Math.abs(value) > Number.MAX_SAFE_INTEGER;
  if (typeof value !== "object" || value === null) return false;
  if (Array.isArray(value)) return value.some((each) => isChangedByParsing(each));
  return Object.entries(value).some(
    ([key, each]) => /^(?:0|[1-9]\d*)$/.test(key) || isChangedByParsing(each),
  );
}
