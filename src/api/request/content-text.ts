/** Reads the text of a message's content, as OpenAI's APIs have it. */
import { type MediaInput, noteOrRefuse } from "./media.ts";

interface ContentPart {
  readonly type: string;
  readonly text?: string | null | undefined;
  readonly refusal?: string | null | undefined;
}

/**
 * Joins text parts without a separator. Throws a `RequestError` for media if they are refused.
 *
 * @param param the content's field
 */
export function contentText(
  content: string | readonly ContentPart[] | null | undefined,
  param: string,
  media: MediaInput,
): string {
  if (typeof content === "string") return content;
  let text = "";
  for (const [index, part] of (content ?? []).entries()) {
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
