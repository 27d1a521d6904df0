/** The text of a message's content. */
import { type MediaInput, noteOrRefuse } from "../request/media.ts";
import type { ChatMessage } from "./request.ts";

/** Joins text parts without a separator. Throws a `RequestError` for media if they are refused. */
export function contentText(
  content: ChatMessage["content"],
  param: string,
  media: MediaInput,
): string {
  if (content === undefined || content === null) return "";
  if (typeof content === "string") return content;
  let text = "";
  for (const [index, part] of content.entries()) {
    if (part.type === "text" || part.type === "input_text" || part.type === "output_text") {
      text += part.text ?? "";
    } else if (part.type === "refusal") {
      text += part.refusal ?? "";
    } else {
      const field = `${param}.content[${index}].type`;
      text += noteOrRefuse(part.type, { media, param: field, noun: "parts" });
    }
  }
  return text;
}
