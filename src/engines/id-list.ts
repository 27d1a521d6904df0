/** Reads token ids from JSON text without parsing it: `JSON.parse` would dominate the cost of a streamed token. */
import type { TokenId } from "../tokenizer/tokenizer.ts";

/**
 * Reads `1,2,3]` from `at` on and adds the ids to `into`. Returns the position of the closing bracket, or -1, with
 * nothing added, for any other text.
 */
export function readIdList(text: string, at: number, into: TokenId[]): number {
  const begin = into.length;
  let id = NONE;
  for (let i = at; i < text.length; i += 1) {
    const code = text.charCodeAt(i);
    if (code >= DIGIT_0 && code <= DIGIT_9) id = (id === NONE ? 0 : id * 10) + (code - DIGIT_0);
    else {
      if (id !== NONE) into.push(id);
      if (code === CLOSING_BRACKET) return i;
      if (code !== COMMA) break;
      id = NONE;
    }
  }
  into.length = begin;
  return -1;
}

const NONE = -1;
const DIGIT_0 = 48;
const DIGIT_9 = 57;
const COMMA = 44;
const CLOSING_BRACKET = 93;
