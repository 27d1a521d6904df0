/** Formulas in Markdown: `$…$`, `$$…$$`, `\(…\)` and `\[…\]`. */
import type { Tokens } from "marked";

/** Maximum characters of one formula. Longer ones are shown unchanged. */
const MAX_TEX = 4000;
/** Each opening mark, its closing mark, and whether the formula is a block. */
const MARKS = [
  { open: "$$", close: "$$", isDisplay: true },
  { open: "\\[", close: "\\]", isDisplay: true },
  { open: "\\(", close: "\\)", isDisplay: false },
] as const;
const EMPTY_LINE = /\n[ \t]*\n/;
/** A formula between dollar signs. A dollar sign beside a space, or before a digit, is a currency sign. */
const DOLLARS = /^\$(?![\s$])((?:\\[^\n]|[^\n$\\]){1,4000}?)(?<!\s)\$(?!\d)/;
/** The next line that begins a formula, or the end of the paragraph. */
const NEXT_BLOCK = /\n(?:[ \t]*\n| {0,3}(?:\$\$|\\\[))/g;

export interface Formula extends Tokens.Generic {
  readonly type: "formula";
  readonly tex: string;
  readonly isDisplay: boolean;
}

/**
 * An extension of the lexer for formulas.
 *
 * @param take returns whether this amount of work is left. After a formula that ends a paragraph, the lexer reads the rest again.
 */
export function toExtensions(take: (work: number) => boolean) {
  return {
    renderers: {},
    childTokens: {},
    block: [toBlock],
    inline: [toInline],
    startBlock: [
      (text: string) => {
        const start = blockStart(text);
        return start !== -1 && take(text.length) ? start : -1;
      },
    ],
    startInline: [(text: string) => text.search(/[$\\]/)],
  };
}

/** A formula that ends its line. */
function toBlock(text: string): Formula | undefined {
  const indent = /^ {0,3}(?=\$\$|\\\[)/.exec(text)?.[0];
  if (indent === undefined) return undefined;
  const formula = toMarked(text.slice(indent.length));
  if (formula === undefined) return undefined;
  const end = indent.length + formula.raw.length;
  const rest = /^[ \t]*(?:\n+|$)/.exec(text.slice(end))?.[0];
  return rest === undefined ? undefined : { ...formula, raw: text.slice(0, end + rest.length) };
}

function toInline(text: string): Formula | undefined {
  const marked = toMarked(text);
  if (marked !== undefined) return marked;
  const [raw, tex] = DOLLARS.exec(text) ?? [];
  return raw === undefined || tex === undefined
    ? undefined
    : { type: "formula", raw, tex, isDisplay: false };
}

function toMarked(text: string): Formula | undefined {
  const mark = MARKS.find(({ open }) => text.startsWith(open));
  if (mark === undefined) return undefined;
  const end = text.slice(2, 2 + MAX_TEX).indexOf(mark.close);
  const tex = text.slice(2, 2 + end);
  if (end < 1 || EMPTY_LINE.test(tex)) return undefined;
  return { type: "formula", raw: text.slice(0, end + 4), tex, isDisplay: mark.isDisplay };
}

/** @returns index at which a formula ends the paragraph, or -1 */
function blockStart(text: string): number {
  for (const { 0: found, index } of text.matchAll(NEXT_BLOCK)) {
    if (!/[$[]$/.test(found)) return -1;
    if (toBlock(text.slice(index + 1)) !== undefined) return index;
  }
  return -1;
}
