/** The interface of a tokenizer, independent of its vocabulary. */

/** An id of the `o200k_harmony` vocabulary: an integer from 0 to 201087. */
export type TokenId = number;

export interface Tokenizer {
  /**
   * Text to ids. Everything in `text` is ordinary text: a spelled `<|end|>` becomes the ordinary
   * tokens of its seven characters, never a special id. Lone surrogates are encoded as U+FFFD.
   *
   * @param scope whose text it is. It changes the time alone: words met before in the same scope are encoded faster.
   */
  encode(text: string, scope?: string): TokenId[];

  /** The same ids in steps of a few milliseconds, so that the caller can yield in between. */
  encodeInSteps(text: string, scope?: string): EncodeSteps;

  /**
   * Ids to text. Special ids give their names (`<|start|>`); bytes that are not valid UTF-8 become
   * U+FFFD, one for each maximal subpart; ids outside the vocabulary give nothing.
   */
  decode(ids: readonly TokenId[]): string;

  /** A decoder for ids that arrive one by one. */
  createDecoder(): StreamingDecoder;
}

/** Gives after each step how many ids there are so far; of a very long word the last few may still change. */
export type EncodeSteps = Generator<number, TokenId[]>;

/** Turns ids into text as soon as whole characters are known. */
export interface StreamingDecoder {
  /** Text proven by this id: empty while a character is unfinished. */
  push(id: TokenId): string;
  /** What is left: U+FFFD for an unfinished character, else nothing. The decoder is then fresh again. */
  end(): string;
}
