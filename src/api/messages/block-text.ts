/** Text that replaces a content block in the prompt, since gpt-oss reads text only. */
import { RequestError } from "../errors.ts";
import type { Block, ResultBlock } from "./request.ts";

/** How images and files in user messages are handled. In tool results they are always replaced. */
export type MediaInput = "placeholder" | "refuse";

type MediaBlock = Extract<Block, { type: "image" | "document" | "search_result" }>;

/** Tells the model about the image, so that it can answer that it has not seen it. */
const IMAGE = "[image: this model cannot see images]";
const DOCUMENT = "[document: this model cannot read documents of this type]";

/**
 * Text for a user block that is not plain text. Throws a {@link RequestError} if the operator refuses media.
 */
export function mediaText(block: MediaBlock, param: string, media: MediaInput): string {
  const readable = readableText(block);
  if (readable !== undefined) return readable;
  if (media === "refuse") {
    throw new RequestError(
      `${param}.type: the model is text-only and cannot read ${JSON.stringify(block.type)} blocks`,
      { param: `${param}.type` },
    );
  }
  return block.type === "image" ? IMAGE : DOCUMENT;
}

/** Text of a block in a tool result. Undefined: the block is skipped. */
export function resultText(block: ResultBlock): string | undefined {
  switch (block.type) {
    case "text":
      return block.text;
    case "image":
      return IMAGE;
    case "document":
    case "search_result":
      return readableText(block) ?? DOCUMENT;
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
      return (source.content ?? []).map((each) => textMember(each) ?? IMAGE).join("\n");
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
