/**
 * Prompts as text, for engines that accept no ids.
 *
 * Such an engine tokenizes the text with special tokens enabled, so `<|end|>` typed by a user would become the special
 * token. The format has no escape for it. The spelling is therefore broken by a zero-width space, and the
 * result says that the text was altered.
 */

import { isSpecial, o200kHarmony, specialTokenName } from "../tokenizer/index.ts";
import type { TokenId, Tokenizer } from "../tokenizer/index.ts";

export interface PromptText {
  readonly text: string;
  /** Whether a spelling of a control token inside ordinary text was broken. */
  readonly altered: boolean;
  /** The number of tokens that a server reads. A broken spelling has more tokens than the original ids. */
  readonly tokens: number;
}

export interface PromptTextOptions {
  /** Whether spellings of control tokens inside ordinary text are broken. Default true. */
  readonly sanitize?: boolean;
  readonly tokenizer?: Tokenizer;
}

/**
 * Writes special ids by name and decodes the ids between them.
 *
 * @example
 * ```ts
 * import { START, toPromptText } from "harmony-gateway/harmony";
 * import { o200kHarmony } from "harmony-gateway/tokenizer";
 *
 * toPromptText([START, ...o200kHarmony().encode("user")]).text; // => "<|start|>user"
 * ```
 */
export function toPromptText(
  ids: readonly TokenId[],
  { sanitize = true, tokenizer = o200kHarmony() }: PromptTextOptions = {},
): PromptText {
  const writer = new PromptTextWriter(tokenizer, sanitize);
  writer.writeIds(ids);
  return writer.finish();
}

/** Text in the form of a control token: servers know more control tokens than the format has. */
const SPELLING = /<\|(?=\w+\|>)/g;

/**
 * Inserts U+200B after the `<` of every spelled control token, so that `<|end|>` looks the same but is tokenized as
 * ordinary characters.
 *
 * @example
 * ```ts
 * import { breakControlSpellings } from "harmony-gateway/harmony";
 *
 * breakControlSpellings("<|end|>"); // => "<\u200B|end|>"
 * ```
 */
export function breakControlSpellings(text: string): string {
  return text.includes("<|") ? text.replaceAll(SPELLING, "<\u200b|") : text;
}

/**
 * Writes the text of a prompt. It collects the text between two special tokens, because a spelling may extend over
 * several pieces.
 */
export class PromptTextWriter {
  readonly #tokenizer: Tokenizer;
  readonly #sanitize: boolean;
  #done = "";
  #ordinary = "";
  #undecoded: TokenId[] = [];
  #altered = false;
  #tokens = 0;
  /** Tokens of `#ordinary`, valid while nothing in it is altered. */
  #ordinaryTokens = 0;

  constructor(tokenizer: Tokenizer, sanitize: boolean) {
    this.#tokenizer = tokenizer;
    this.#sanitize = sanitize;
  }

  /** `tokens`: the length of the text in tokens. */
  writeText(text: string, tokens: number): void {
    this.#decode();
    this.#ordinaryTokens += tokens;
    // Engines get UTF-8, which cannot encode a lone surrogate.
    this.#ordinary += text.toWellFormed();
  }

  writeIds(ids: Iterable<TokenId>): void {
    for (const id of ids) {
      if (isSpecial(id)) this.writeSpecial(specialTokenName(id) ?? "");
      else this.#undecoded.push(id);
    }
  }

  writeSpecial(name: string): void {
    this.#flush();
    this.#done += name;
    this.#tokens++;
  }

  /** Writes text of an engine unchanged: the engine itself wrote any control tokens in it. */
  writeAsIs(text: string): void {
    this.#flush();
    this.#done += text;
    this.#tokens += this.#tokenizer.encode(text).length;
  }

  finish(): PromptText {
    this.#flush();
    return { text: this.#done, altered: this.#altered, tokens: this.#tokens };
  }

  /** Decodes ids together, because a character may take several ids. */
  #decode(): void {
    if (this.#undecoded.length === 0) return;
    this.#ordinary += this.#tokenizer.decode(this.#undecoded);
    this.#ordinaryTokens += this.#undecoded.length;
    this.#undecoded = [];
  }

  #flush(): void {
    this.#decode();
    const text = this.#sanitize ? breakControlSpellings(this.#ordinary) : this.#ordinary;
    const isAltered = text !== this.#ordinary;
    this.#altered ||= isAltered;
    this.#tokens += isAltered ? this.#tokenizer.encode(text).length : this.#ordinaryTokens;
    this.#done += text;
    this.#ordinary = "";
    this.#ordinaryTokens = 0;
  }
}
