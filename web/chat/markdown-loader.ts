/** Answers as Markdown. The parser is loaded in the background; until then, text is shown unchanged. */
import type { TemplateResult } from "lit-html";
import type { AnswerPart } from "./conversation.ts";
import { markdownParser } from "./late-parts.ts";

type TextPart = Extract<AnswerPart, { text: string }>;

/** Maximum characters that are parsed in each frame. Longer text is parsed when it is complete. */
const MAX_WHILE_WRITING = 200_000;
const made = new WeakMap<TextPart, TemplateResult>();

export function markdown(part: TextPart, isWriting: boolean): TemplateResult | string {
  const { loaded } = markdownParser;
  if (loaded === undefined || (isWriting && part.text.length > MAX_WHILE_WRITING)) return part.text;
  const known = made.get(part);
  if (known !== undefined) return known;
  const template = loaded.toTemplate(part.text);
  made.set(part, template);
  return template;
}

/** @param written the arguments of a call */
export function python(written: string): TemplateResult | string {
  return markdownParser.loaded?.pythonCall(written) ?? written;
}
