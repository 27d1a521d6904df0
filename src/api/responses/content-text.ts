/** Reads the text of message content. */
import { type MediaInput, noteOrRefuse } from "../request/media.ts";
import type { Content } from "./items.ts";

/** Joins text parts without a separator. Throws a `RequestError` for media if they are refused. */
export function contentText(content: Content, param: string, media: MediaInput): string {
  if (typeof content === "string") return content;
  let text = "";
  for (const [index, part] of content.entries()) {
    switch (part.type) {
      // Clients put any of these into messages of any role.
      case "input_text":
      case "output_text":
      case "text":
        text += part.text ?? "";
        break;
      case "refusal":
        text += part.refusal ?? "";
        break;
      default:
        text += noteOrRefuse(part.type, { media, param: `${param}[${index}].type`, noun: "parts" });
    }
  }
  return text;
}
