/** Makes reasoning items of the reasoning that clients put into the content of assistant messages. */
import { splitThought, type TaggedText } from "../request/thought-tag.ts";
import type { Content, InputItem } from "./items.ts";

interface Located {
  readonly item: InputItem;
}

/** A reasoning item directly before the message has the same reasoning, and counts. */
export function withThoughts<T extends Located>(items: readonly T[]): readonly T[] {
  return items.flatMap((located, index) => {
    const { item } = located;
    if (item.type !== "message" || item.role !== "assistant") return [located];
    const tagged = splitContent(item.content);
    if (!tagged.isTagged) return [located];
    const { reasoning, content } = tagged;
    const isKnown = reasoning === undefined || items[index - 1]?.item.type === "reasoning";
    return [
      ...(isKnown ? [] : [{ ...located, item: toReasoningItem(reasoning) }]),
      ...(content.length === 0 ? [] : [{ ...located, item: { ...item, content } }]),
    ];
  });
}

function splitContent(content: Content): TaggedText & { readonly content: Content } {
  if (typeof content === "string") {
    const tagged = splitThought(content);
    return { ...tagged, content: tagged.text };
  }
  const [first, ...others] = content;
  const tagged = splitThought(first !== undefined && "text" in first ? (first.text ?? "") : "");
  const isLeft = first !== undefined && tagged.text !== "";
  return { ...tagged, content: isLeft ? [{ ...first, text: tagged.text }, ...others] : others };
}

function toReasoningItem(text: string): InputItem {
  return { type: "reasoning", summary: [], content: [{ type: "reasoning_text", text }] };
}
