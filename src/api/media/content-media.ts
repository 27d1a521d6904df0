/** Finds images and files in content, and puts texts in their place. */

import { isMedia } from "./media-part.ts";
import type { MediaInput } from "../request/media.ts";

export type MediaTexts = ReadonlyMap<object, string>;

/** A content part, its field, and what is done with a file there that cannot be read. */
export interface MediaSlot {
  readonly part: object;
  readonly param: string;
  readonly media: MediaInput;
}

/** The slots of content, which has none where it is a text. `param`: the content's field. */
export function slotsOf(
  content: string | readonly object[] | null | undefined,
  param: string,
  media: MediaInput,
): MediaSlot[] {
  return partsOf(content).flatMap((part, index) =>
    isMedia(part) ? [{ part, param: `${param}[${index}]`, media }] : [],
  );
}

/** No interface, which loose parts would not accept. */
export type TextPart = { readonly type: "text"; readonly text: string };

/** The parts of content, which is a text where it has none. */
export function partsOf<P extends object>(
  content: string | readonly P[] | null | undefined,
): readonly P[] {
  return typeof content === "object" && content !== null ? content : [];
}

/** The same content if there are no texts for its parts. Texts of parts are joined without a separator, so each has its own lines. */
export function withTextParts<P extends object, C extends string | null | undefined>(
  content: C | P[],
  texts: MediaTexts,
): C | (P | TextPart)[] {
  if (!Array.isArray(content) || !content.some((part) => texts.has(part))) return content;
  return content.map((part, index) => {
    const text = texts.get(part);
    if (text === undefined) return part;
    const isFirst = index === 0;
    const isLast = index === content.length - 1;
    return { type: "text", text: `${isFirst ? "" : "\n"}${text}${isLast ? "" : "\n"}` };
  });
}
