/** Reads the text of message content. The model is text-only. */
import { refusal, type Unsupported } from "./unsupported.ts";
import type { Content } from "./items.ts";

const PLACEHOLDERS: Readonly<Record<string, string>> = {
  input_image: "[An image was attached here. It cannot be seen: this model reads only text.]",
  input_file: "[A file was attached here. It cannot be read: this model reads only text.]",
};

/** Joins text parts without a separator. The model supports no other kind. */
export function contentText(content: Content, param: string, unsupported: Unsupported): string {
  if (typeof content === "string") return content;
  let text = "";
  for (const [index, part] of content.entries()) {
    const field = `${param}[${index}].type`;
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
      default: {
        const placeholder = PLACEHOLDERS[part.type];
        if (placeholder === undefined || unsupported.media === "refuse") {
          throw refusal(
            field,
            `the model is text-only and cannot read ${JSON.stringify(part.type)} parts`,
          );
        }
        text += placeholder;
      }
    }
  }
  return text;
}
