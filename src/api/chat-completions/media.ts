/** The images of a chat request: in messages of any role, and in results of tools. */
import { type MediaTexts, partsOf, withTextParts } from "../media/content-media.ts";
import type { RequestMedia } from "../media/request-media.ts";
import type { ChatMessage, ChatRequest } from "./request.ts";

/** The request with texts in place of its images. Rejects only with the signal's reason. */
export async function withMediaTexts(
  request: ChatRequest,
  media: RequestMedia | undefined,
  signal: AbortSignal,
): Promise<ChatRequest> {
  if (media === undefined) return request;
  const parts = request.messages.flatMap(({ content }) => partsOf(content));
  const texts = await media.read(parts, signal);
  if (texts.size === 0) return request;
  return { ...request, messages: request.messages.map((message) => withTexts(message, texts)) };
}

function withTexts(message: ChatMessage, texts: MediaTexts): ChatMessage {
  return { ...message, content: withTextParts(message.content, texts) };
}
