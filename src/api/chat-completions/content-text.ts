/** The text of a message's content. */
import { RequestError } from "../errors.ts";
import type { ChatMessage } from "./request.ts";

/** Joins text parts without a separator. The model supports no other kind. */
export function contentText(content: ChatMessage["content"], param: string): string {
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
      throw new RequestError(
        `${field}: the model is text-only and cannot read ${JSON.stringify(part.type)} parts`,
        { param: field },
      );
    }
  }
  return text;
}
