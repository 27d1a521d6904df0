/**
 * Reads reasoning that a client sends back within the content of an assistant message, as `<think>…</think>` before the
 * text. gptme, Inspect and many chat front ends send reasoning in this form, because they show it in this form.
 */

export interface TaggedText {
  /** Undefined: the content has none, or only reasoning that is encrypted by another provider. */
  readonly reasoning: string | undefined;
  readonly text: string;
  readonly isTagged: boolean;
}

/** Splits content in linear time. A tag that is not closed is text. */
export function splitThought(content: string): TaggedText {
  const thoughts: string[] = [];
  let at = 0;
  for (;;) {
    OPENING.lastIndex = at;
    const opening = OPENING.exec(content)?.[0];
    if (opening === undefined) break;
    const begin = at + opening.length;
    const end = content.indexOf(CLOSING, begin);
    if (end < 0) break;
    const thought = content.slice(begin, end).trim();
    if (thought !== "" && !REDACTED.test(opening)) thoughts.push(thought);
    at = end + CLOSING.length;
  }
  if (at === 0) return { reasoning: undefined, text: content, isTagged: false };
  return {
    reasoning: thoughts.length === 0 ? undefined : thoughts.join("\n\n"),
    text: content.slice(at).trimStart(),
    isTagged: true,
  };
}

const OPENING = /\s*<think(?:\s[^>]*)?>/y;
const CLOSING = "</think>";
/** Inspect's mark of reasoning encrypted by another provider. */
const REDACTED = /\sredacted="true"/;
