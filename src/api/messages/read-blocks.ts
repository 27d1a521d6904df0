/**
 * Reads the blocks of messages: blocks of users become entries, blocks of the assistant become parts. gpt-oss reads
 * text only.
 */
import {
  type MediaRule,
  mediaNote,
  type MediaRules,
  noteOrRefuse,
} from "../request/content-text.ts";
import type { Block, ResultBlock } from "./block-schema.ts";
import { memberText } from "../../harmony/json-member.ts";
import { type Json, parseJson, toCompactJson } from "../../harmony/json.ts";
import { jsonAt } from "../request/ordered-json.ts";
import { splitThought } from "../request/thought-tag.ts";
import type { AssistantPart, HistoryEntry } from "./history-entry.ts";
import { summaryText } from "../reply/summary-text.ts";

type MediaBlock = Extract<Block, { type: "image" | "document" | "search_result" }>;

/** Text for a block that is not plain text. Throws a `RequestError` if media are refused. */
function mediaText(block: MediaBlock, param: string, mediaRule: MediaRule): string {
  const readable = readableText(block);
  if (readable !== undefined) return readable;
  return noteOrRefuse(block.type, { mediaRule, param: `${param}.type`, noun: "blocks" });
}

/** Text of a block in a tool result. Undefined: the block is skipped. */
function resultText(block: ResultBlock, param: string, mediaRule: MediaRule): string | undefined {
  switch (block.type) {
    case "text":
      return block.text;
    case "image":
    case "document":
    case "search_result":
      return mediaText(block, param, mediaRule);
    case "tool_reference":
      // The tool itself is now in the list of functions.
      return `Loaded tool: ${block.tool_name}`;
    case "unsupported":
      return undefined;
    default:
      return block satisfies never;
  }
}

function readableText(block: MediaBlock): string | undefined {
  switch (block.type) {
    case "image":
      return undefined;
    case "document": {
      const { source } = block;
      if (source?.type === "text") return source.data ?? "";
      if (source?.type !== "content") return undefined;
      if (typeof source.content === "string") return source.content;
      return (source.content ?? [])
        .map((each) => textMember(each) ?? mediaNote("image"))
        .join("\n");
    }
    case "search_result": {
      const texts = (block.content ?? []).map((each) => each.text);
      return [block.title, block.source, ...texts].filter((each) => each).join("\n");
    }
    default:
      return block satisfies never;
  }
}

function textMember(block: Readonly<Record<string, unknown>>): string | undefined {
  const text = block["text"];
  return block["type"] === "text" && typeof text === "string" ? text : undefined;
}

/** The client's name of the block's kind. */
export function kindOf(block: Block | ResultBlock): string {
  return block.type === "unsupported" ? block.kind : block.type;
}

/** Returns the arguments at a path of the request as compact JSON text, keys in the order sent. */
type ArgumentsReader = (input: unknown, path: readonly (string | number)[]) => string;

/**
 * For nearly all arguments `JSON.stringify` reproduces the text that was sent. For the others the body's text is parsed
 * again, which takes 10 ms per megabyte.
 */
export function createArgumentsReader(bodyText: () => string): ArgumentsReader {
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
    // The body contains lone surrogates, which only `JSON.parse` accepts.
    return undefined;
  }
}

/** Whether `JSON.parse` has changed a value: it reorders keys that look like integers and rounds large integers. */
function isChangedByParsing(value: unknown): boolean {
  if (typeof value === "number") return Math.abs(value) > Number.MAX_SAFE_INTEGER;
  if (typeof value !== "object" || value === null) return false;
  if (Array.isArray(value)) return value.some((each) => isChangedByParsing(each));
  return Object.entries(value).some(
    ([key, each]) => /^(?:0|[1-9]\d*)$/.test(key) || isChangedByParsing(each),
  );
}

interface AssistantOptions {
  readonly path: readonly (string | number)[];
  /** The index of the first block in the message. */
  readonly from: number;
  readonly toArguments: ArgumentsReader;
  readonly skipped: Set<string>;
}

export function toAssistantParts(
  blocks: readonly Block[],
  { path, from, toArguments, skipped }: AssistantOptions,
): AssistantPart[] {
  const parts: AssistantPart[] = [];
  const inputs = new Map<string, unknown>();
  const servers = new Map<string, Extract<Block, { type: "mcp_tool_use" }>>();
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
        inputs.set(block.id, block.input ?? {});
        break;
      case "tool_search_tool_result": {
        const input = inputs.get(block.tool_use_id ?? "");
        const search = input === undefined ? undefined : JSON.stringify(input);
        const references = block.content?.tool_references ?? [];
        parts.push({ type: "found", search, names: references.map((each) => each.tool_name) });
        break;
      }
      case "mcp_tool_use":
        servers.set(block.id, block);
        break;
      case "mcp_tool_result": {
        const call = servers.get(block.tool_use_id);
        if (call === undefined) break;
        const { server_name: server, name: tool, input } = call;
        const { content } = block;
        const texts =
          typeof content === "string" ? [content] : (content ?? []).map((each) => each.text ?? "");
        const result = texts.join("\n") || (block.is_error ? "Error" : "");
        const shown = {
          type: "mcp-call",
          server,
          tool,
          body: JSON.stringify(input ?? {}),
          result,
        } as const;
        parts.push({ type: "gateway-call", sealed: "", shown });
        break;
      }
      case "web_search_tool_result":
      case "web_fetch_tool_result":
      case "code_execution_tool_result": {
        const carriers = block.content.map((each) => each.encrypted_content ?? "");
        const sealed = carriers.find((each) => each !== "") ?? "";
        parts.push({ type: "gateway-call", sealed });
        break;
      }
      case "compaction":
        // Blocks with a summary were removed earlier; this one has none.
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
        const { id: callId, name, input } = block;
        const body = toArguments(input, [...path, from + index, "input"]);
        parts.push({ type: "call", callId, name, body, form: "json" });
        break;
      }
      default:
        skipped.add(kindOf(block));
    }
  }
  return parts;
}

/** Splits reasoning from text. `hasThinking`: thinking blocks precede the text and take precedence. */
function splitText(content: string, hasThinking: boolean): AssistantPart[] {
  const { reasoning, text } = splitThought(content);
  const isSent = reasoning !== undefined && !hasThinking;
  return [
    ...(isSent ? [{ type: "thinking", text: reasoning, sealed: "" } as const] : []),
    ...(text === "" ? [] : [{ type: "text", text } as const]),
  ];
}

interface UserOptions {
  readonly param: string;
  readonly mediaRules: MediaRules;
  readonly skipped: Set<string>;
}

/** Results and texts in the order sent. Adjacent texts become one message. */
export function toUserEntries(
  blocks: readonly Block[],
  { param, mediaRules, skipped }: UserOptions,
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
        texts.push(mediaText(block, `${param}[${index}]`, mediaRules.inMessages));
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
          callId: block.tool_use_id,
          text: toResultText(block, { param: `${param}[${index}]`, mediaRules, skipped }),
          param: `${param}[${index}]`,
        });
        entries.push(...toFound(block));
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

function toFound({ content }: Extract<Block, { type: "tool_result" }>): HistoryEntry[] {
  if (!Array.isArray(content)) return [];
  const names = content.flatMap((each) => (each.type === "tool_reference" ? [each.tool_name] : []));
  return names.length === 0 ? [] : [{ type: "found", names }];
}

function joinResult(
  blocks: readonly ResultBlock[],
  { param, mediaRules, skipped }: UserOptions,
): string {
  const texts: string[] = [];
  for (const [index, block] of blocks.entries()) {
    const text = resultText(block, `${param}.content[${index}]`, mediaRules.inResults);
    if (text === undefined) skipped.add(kindOf(block));
    else if (text !== "") texts.push(text);
  }
  return texts.join("\n");
}
