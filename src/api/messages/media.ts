/** The images of a request: in messages, in results of tools, and in documents among either. */
import { type MediaTexts, partsOf, type TextPart } from "../media/content-media.ts";
import type { RequestMedia } from "../media/request-media.ts";
import type { Block, ResultBlock } from "./block-schema.ts";
import type { CountRequest, WireMessage } from "./request.ts";

/** The request with texts in place of its images. Rejects only with the signal's reason. */
export async function withMediaTexts<R extends Pick<CountRequest, "messages">>(
  request: R,
  media: RequestMedia | undefined,
  signal: AbortSignal,
): Promise<R> {
  if (media === undefined) return request;
  // What stands before a summary is not in the prompt.
  const from = Math.max(
    0,
    request.messages.findLastIndex((message) => hasSummary(message)),
  );
  const texts = await media.read(request.messages.slice(from).flatMap(mediaOf), signal);
  if (texts.size === 0) return request;
  return { ...request, messages: request.messages.map((message) => withTexts(message, texts)) };
}

function hasSummary({ content }: WireMessage): boolean {
  return partsOf(content).some((block) => block.type === "compaction" && Boolean(block.content));
}

function mediaOf({ content }: WireMessage): object[] {
  return partsOf(content).flatMap((block) =>
    block.type === "tool_result" ? partsOf(block.content).flatMap(imagesOf) : imagesOf(block),
  );
}

function imagesOf(block: Block | ResultBlock): readonly object[] {
  if (block.type === "image") return [block];
  return block.type === "document" ? partsOf(block.source?.content) : [];
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
