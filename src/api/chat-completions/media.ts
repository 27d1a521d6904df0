/** The images and files of a chat request: in messages of any role, and in results of tools. */
import { type MediaTexts, slotsOf, withTextParts } from "../media/content-media.ts";
import type { RequestMedia } from "../media/request-media.ts";
import type { MediaRules } from "../request/media.ts";
import type { ChatMessage, ChatRequest } from "./request.ts";

/** The request with texts in place of what can be read. Rejects as {@link RequestMedia.read} does. */
export async function withMediaTexts(
  request: ChatRequest,
  { media, rules }: { readonly media: RequestMedia; readonly rules: MediaRules },
  signal: AbortSignal,
): Promise<ChatRequest> {
  const slots = request.messages.flatMap(({ role, content }, index) => {
    const isResult = role === "tool" || role === "function";
    const rule = isResult ? rules.inResults : rules.inMessages;
    return slotsOf(content, `messages[${index}].content`, rule);
  });
  const texts = await media.read(slots, signal);
  if (texts.size === 0) return request;
  return { ...request, messages: request.messages.map((message) => withTexts(message, texts)) };
}

function withTexts(message: ChatMessage, texts: MediaTexts): ChatMessage {
  return { ...message, content: withTextParts(message.content, texts) };
}
