/** Markdown's lexer with bounded work: for some marks it searches all of the text after them. */
import { Lexer, type Token, type TokensList } from "marked";
import { toExtensions } from "./formulas.ts";

/** Marks for which the lexer searches the rest of a text. */
const MARKS = /[*_~!<[`$\\]/g;
/** A long run of characters. In a run with a URL the lexer searches from each character, in cheap steps: 8 count as one. */
const RUN = /\S{64,}/g;
const ADDRESS = /@|:\/\/|www\./;
const RUN_STEPS = 8;
/** Work of a quotation or an item of a list, in characters. */
const BLOCK_WORK = 400;
/** Maximum work of one answer: mostly lengths of texts times their marks. Ordinary answers of 200 KB stay below it. */
export const MAX_WORK = 8_000_000;

export function workOf(text: string): number {
  const runs = (text.match(RUN) ?? []).filter((run) => ADDRESS.test(run));
  const searched = runs.reduce((sum, { length }) => sum + (length * length) / RUN_STEPS, 0);
  return text.length * (text.match(MARKS)?.length ?? 0) + searched;
}

/** A lexer that returns text beyond the limit unchanged. */
class BoundedLexer extends Lexer {
  #left = MAX_WORK;

  constructor() {
    super({ gfm: true });
    this.options.extensions = toExtensions((work) => this.#take(work));
  }

  /** Tokens of a block. A quotation below one that is one level deeper is read twice at each level. */
  override blockTokens(text: string, tokens?: Token[], isClipped?: boolean): Token[];
  override blockTokens(text: string, tokens?: TokensList, isClipped?: boolean): TokensList;
  override blockTokens(text: string, tokens = this.tokens, isClipped?: boolean): TokensList {
    if (this.#take(BLOCK_WORK + text.length)) super.blockTokens(text, tokens, isClipped);
    else tokens.push({ type: "as-written", raw: text });
    return tokens;
  }

  override inlineTokens(text: string, tokens: Token[] = []): Token[] {
    if (this.#take(workOf(text))) return super.inlineTokens(text, tokens);
    tokens.push({ type: "text", raw: text, text });
    return tokens;
  }

  #take(work: number): boolean {
    const isEnough = work <= this.#left;
    if (isEnough) this.#left -= work;
    return isEnough;
  }
}

/**
 * The tokens of a text. The lexer is recursive for each level of quotations and lists: if the stack is too small, the text is
 * returned unchanged.
 */
export function toTokens(text: string): readonly Token[] {
  try {
    return new BoundedLexer().lex(text);
  } catch {
    return [{ type: "as-written", raw: text }];
  }
}
