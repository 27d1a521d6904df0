/** Tokens as `logprobs` shows them. */
import {
  o200kHarmony,
  tokenBytes,
  type TokenId,
  tokenText as wholeText,
} from "../../tokenizer/index.ts";

export interface TokenText {
  /** U+FFFD for a token that is part of a character. */
  readonly token: string;
  /**
   * The token's bytes. Concatenated over an answer they are its UTF-8, even where characters are split between tokens.
   */
  readonly bytes: readonly number[];
}

const encoder = new TextEncoder();

export function tokenText(id: TokenId): TokenText {
  const token = wholeText(id) ?? o200kHarmony().decode([id]);
  return { token, bytes: [...(tokenBytes(id) ?? encoder.encode(token))] };
}
