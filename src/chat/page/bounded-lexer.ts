/** Markdown's lexer with bounded work: it looks for the end of some marks in all of the text after them. */
import { Lexer, type Token } from "marked";

/** What lets the lexer search the rest of a text. */
const MARKS = /[*_~!<[`]/g;
/** Texts' lengths times their marks, of one answer. Ordinary answers of 200 KB stay below it. */
export const MAX_WORK = 8_000_000;

export function workOf(text: string): number {
  return text.length * (text.match(MARKS)?.length ?? 0);
}

/** Shows as written what would exceed the bound. */
class BoundedLexer extends Lexer {
  #left = MAX_WORK;

  override inlineTokens(text: string, tokens: Token[] = []): Token[] {
    const work = workOf(text);
    if (work > this.#left) {
      tokens.push({ type: "text", raw: text, text });
      return tokens;
    }
    this.#left -= work;
    return super.inlineTokens(text, tokens);
  }
}

/** The lexer calls itself for each level of quotations and lists: where the stack is too small for it, the text is shown as written. */
export function toTokens(text: string): readonly Token[] {
  try {
    return new BoundedLexer({ gfm: true }).lex(text);
  } catch {
    return [{ type: "as-written", raw: text }];
  }
}
