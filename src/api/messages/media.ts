/** Reads the images and files of a request: in messages, in tool results, and in documents within either. */
import {
  isMedia,
  type MediaSlot,
  type MediaTexts,
  partsOf,
  type TextPart,
} from "../media/media-part.ts";
import type { RequestMedia } from "../media/request-media.ts";
import type { MediaRule, MediaRules } from "../request/content-text.ts";
import type { Block, ResultBlock } from "./block-schema.ts";
import type { CountRequest, WireMessage } from "./request.ts";

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
