/** A tokenizer that records the texts it encodes. */

import { o200kHarmony } from "../../src/tokenizer/index.ts";
import type { Tokenizer } from "../../src/tokenizer/index.ts";

export interface CountingTokenizer extends Tokenizer {
  readonly encoded: string[];
}

export function countingTokenizer(): CountingTokenizer {
  const tokenizer = o200kHarmony();
  const encoded: string[] = [];
  return {
    encoded,
    encode(text) {
      encoded.push(text);
      return tokenizer.encode(text);
    },
    encodeInSteps(text) {
      encoded.push(text);
      return tokenizer.encodeInSteps(text);
    },
    decode: (ids) => tokenizer.decode(ids),
    createDecoder: () => tokenizer.createDecoder(),
  };
}
