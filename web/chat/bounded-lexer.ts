/** Markdown's lexer with bounded work: it looks for the end of some marks in all of the text after them. */
import { Lexer, type Token, type TokensList } from "marked";
import { toExtensions } from "./formulas.ts";

/** What lets the lexer search the rest of a text. */
const MARKS = /[*_~!<[`$\\]/g;
/** In a run with an address the lexer begins to look at each character: cheap steps, of which these count as one. */
const RUN = /\S{64,}/g;
const ADDRESS = /@|:\/\/|www\./;
const RUN_STEPS = 8;
/** Of a quotation or an item of a list: as much as this many characters. */
const BLOCK_WORK = 400;
/** Of one answer: texts' lengths times their marks, mostly. Ordinary answers of 200 KB stay below it. */
export const MAX_WORK = 8_000_000;

export function workOf(text: string): number {
  const runs = (text.match(RUN) ?? []).filter((run) => ADDRESS.test(run));
  const searched = runs.reduce((sum, { length }) => sum + (length * length) / RUN_STEPS, 0);
  return text.length * (text.match(MARKS)?.length ?? 0) + searched;
}

/** Shows as written what would exceed the bound. */
class BoundedLexer extends Lexer {
  #left = MAX_WORK;

  constructor() {
    super({ gfm: true });
    this.options.extensions = toExtensions((work) => this.#take(work));
  }

  /** A quotation below one that is one level deeper is read twice at each level. */
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

/** The lexer calls itself for each level of quotations and lists: where the stack is too small for it, the text is shown as written. */
export function toTokens(text: string): readonly Token[] {
  try {
    return new BoundedLexer().lex(text);
  } catch {
    return [{ type: "as-written", raw: text }];
  }
}
