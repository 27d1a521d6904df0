/** The blocks of an assistant message as parts of a turn. */
import { splitThought } from "../request/thought-tag.ts";
import { kindOf } from "./block-text.ts";
import type { ArgumentsReader } from "./call-arguments.ts";
import type { AssistantPart } from "./history-entry.ts";
import type { Block } from "./block-schema.ts";

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
      case "web_search_tool_result":
      case "web_fetch_tool_result":
      case "code_execution_tool_result": {
        const carriers = block.content.map((each) => each.encrypted_content ?? "");
        const sealed = carriers.find((each) => each !== "") ?? "";
        parts.push({ type: "gateway-call", sealed });
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

/** `hasThinking`: thinking blocks precede the text, and count. */
function splitText(content: string, hasThinking: boolean): AssistantPart[] {
  const { reasoning, text } = splitThought(content);
  const isSent = reasoning !== undefined && !hasThinking;
  return [
    ...(isSent ? [{ type: "thinking", text: reasoning, sealed: "" } as const] : []),
    ...(text === "" ? [] : [{ type: "text", text } as const]),
  ];
}
