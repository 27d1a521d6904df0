/** Text that replaces a content block in the prompt, since gpt-oss reads text only. */
import { type MediaInput, mediaNote, noteOrRefuse } from "../request/media.ts";
import type { Block, ResultBlock } from "./block-schema.ts";

type MediaBlock = Extract<Block, { type: "image" | "document" | "search_result" }>;

/** Text for a block that is not plain text. Throws a `RequestError` if media are refused. */
export function mediaText(block: MediaBlock, param: string, media: MediaInput): string {
  const readable = readableText(block);
  if (readable !== undefined) return readable;
  return noteOrRefuse(block.type, { media, param: `${param}.type`, noun: "blocks" });
}

/** Text of a block in a tool result. Undefined: the block is skipped. */
export function resultText(
  block: ResultBlock,
  param: string,
  media: MediaInput,
): string | undefined {
  switch (block.type) {
    case "text":
      return block.text;
    case "image":
    case "document":
    case "search_result":
      return mediaText(block, param, media);
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

/** The kind of a block as the client wrote it. */
export function kindOf(block: Block | ResultBlock): string {
  return block.type === "unsupported" ? block.kind : block.type;
}
