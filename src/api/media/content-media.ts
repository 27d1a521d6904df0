/** Finds images in content, and puts texts in their place. */

export type MediaTexts = ReadonlyMap<object, string>;

/** No interface, which loose parts would not accept. */
export type TextPart = { readonly type: "text"; readonly text: string };

/** The parts of content, which is a text where it has none. */
export function partsOf<P extends object>(
  content: string | readonly P[] | null | undefined,
): readonly P[] {
  return typeof content === "object" && content !== null ? content : [];
}

/** The same content if there are no texts for its parts. Texts of parts are joined without a separator, so each has its own lines. */
export function withTextParts<P extends object, C>(
  content: C | P[],
  texts: MediaTexts,
): C | (P | TextPart)[] {
  if (!isList(content) || !content.some((part) => texts.has(part))) return content;
  return content.map((part, index) => {
    const text = texts.get(part);
    if (text === undefined) return part;
    const isFirst = index === 0;
    const isLast = index === content.length - 1;
    return { type: "text", text: `${isFirst ? "" : "\n"}${text}${isLast ? "" : "\n"}` };
  });
}

function isList<P, C>(content: C | P[]): content is P[] {
  return Array.isArray(content);
}
