/** Tokens as `logprobs` shows them. */
import { o200kHarmony, type TokenId, tokenText as wholeText } from "../tokenizer/index.ts";

export interface TokenText {
  readonly token: string;
  /** UTF-8. Null for a token that is a part of a character: its text is then U+FFFD. */
  readonly bytes: readonly number[] | null;
}

const encoder = new TextEncoder();

export function tokenText(id: TokenId): TokenText {
  const text = wholeText(id);
  if (text === undefined) return { token: o200kHarmony().decode([id]), bytes: null };
  return { token: text, bytes: [...encoder.encode(text)] };
}
