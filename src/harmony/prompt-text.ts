/**
 * A prompt as text, for engines that take no ids.
 *
 * Such an engine tokenizes the text with its special tokens on, so `<|end|>` typed by a user would become the
 * real one. There is no way to quote it: the spelling is broken visibly by a zero-width space, and the
 * caller learns that the text was altered.
 */

import { isSpecial, o200kHarmony, specialTokenName } from "../tokenizer/index.ts";
import type { TokenId, Tokenizer } from "../tokenizer/index.ts";

export interface PromptText {
  readonly text: string;
  /** A spelling of a control token inside ordinary text was broken. */
  readonly altered: boolean;
  /** Tokens a server reads it as. A broken spelling takes more of them than the ids it came from. */
  readonly tokens: number;
}

export interface PromptTextOptions {
  /** Break spellings of control tokens inside ordinary text. Default true. */
  readonly sanitize?: boolean;
  readonly tokenizer?: Tokenizer;
}

/** Special ids by their names, everything between them decoded. */
export function toPromptText(
  ids: readonly TokenId[],
  { sanitize = true, tokenizer = o200kHarmony() }: PromptTextOptions = {},
): PromptText {
  const writer = new PromptTextWriter(tokenizer, sanitize);
  writer.writeIds(ids);
  return writer.finish();
}

/** What has the form of a control token, whatever its name: servers know more of them than the format. */
const SPELLING = /<\|(?=\w+\|>)/g;

/**
 * Puts a U+200B behind the `<` of every spelled control token: `<|end|>` is shown the same and read
 * as ordinary characters.
 */
export function breakControlSpellings(text: string): string {
  return text.includes("<|") ? text.replaceAll(SPELLING, "<\u200b|") : text;
}

/** Collects what stands between two special tokens, because a spelling may run over several pieces. */
export class PromptTextWriter {
  readonly #tokenizer: Tokenizer;
  readonly #sanitize: boolean;
  #done = "";
  #ordinary = "";
  #undecoded: TokenId[] = [];
  #altered = false;
  #tokens = 0;
  /** Tokens of `#ordinary` as long as nothing in it is altered. */
  #ordinaryTokens = 0;

  constructor(tokenizer: Tokenizer, sanitize: boolean) {
    this.#tokenizer = tokenizer;
    this.#sanitize = sanitize;
  }

  /** `tokens`: how many tokens the text is. */
  writeText(text: string, tokens: number): void {
    this.#decode();
    this.#ordinaryTokens += tokens;
    // Engines get UTF-8, in which half a surrogate pair cannot be written.
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

  finish(): PromptText {
    this.#flush();
    return { text: this.#done, altered: this.#altered, tokens: this.#tokens };
  }

  /** Not id by id: a character may be spread over several. */
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
