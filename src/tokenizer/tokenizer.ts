/** The interface of a tokenizer, independent of its vocabulary. */

/** An id of the `o200k_harmony` vocabulary: an integer from 0 to 201087. */
export type TokenId = number;

export interface Tokenizer {
  /**
   * Encodes text to ids. The whole `text` is ordinary text: a spelled `<|end|>` becomes the ordinary tokens of its
   * seven characters, never a special id. Lone surrogates are encoded as U+FFFD.
   *
   * @param scope cache scope, such as the tenant. It affects speed only: words met before in the same scope
   * are encoded faster.
   */
  encode(text: string, scope?: string): TokenId[];

  /** Like {@link encode}, in steps of a few milliseconds, so that the caller can yield in between. */
  encodeInSteps(text: string, scope?: string): EncodeSteps;

  /**
   * Decodes ids to text. Special ids give their names (`<|start|>`), bytes that are not valid UTF-8 become
   * U+FFFD, one for each maximal subpart, and ids outside the vocabulary give nothing.
   */
  decode(ids: readonly TokenId[]): string;

  /** A decoder for ids that arrive one by one. */
  createDecoder(): StreamingDecoder;
}

/**
 * Yields the number of ids so far after each step. Within a very long word, the last few ids may still
 * change.
 */
export type EncodeSteps = Generator<number, TokenId[]>;

/** Decodes ids to text as soon as characters are complete. */
export interface StreamingDecoder {
  /** Returns the text that this id completes; empty while a character is incomplete. */
  push(id: TokenId): string;
  /** Returns U+FFFD for an incomplete character, else nothing, and resets the decoder. */
  end(): string;
}
