/**
 * The bytes of every ordinary token, unpacked from `vocabulary.ts`.
 *
 *     bytes   … t h e · t o k e n …    all tokens, one behind the other    1.4 MB
 *     ends    [id] → where it ends                                         0.8 MB
 *
 * Two flat arrays instead of 200,000 objects: js-tiktoken's own maps take 69 MB and half a second.
 *
 * A byte-pair vocabulary is a list of merges: the first 256 tokens are the bytes, and each later one
 * consists of two earlier ones, so two ids of 18 bits are all there is to say about it. They are written
 * in digits of base64, the first digit of all left halves, the second, the third, then those of the
 * right halves: so the leading digits, which hold little, lie together and compress.
 */

import { SLACK } from "./byte-words.ts";
import { FIRST_SPECIAL_ID } from "./special-tokens.ts";
import type { TokenId } from "./tokenizer.ts";
import { vocabulary } from "./vocabulary.ts";

/** How many ordinary tokens there are; their ids are 0 to one less. */
export const ORDINARY_COUNT = FIRST_SPECIAL_ID;
/** Bytes of the longest token. */
export const MAX_TOKEN_BYTES = 128;

export interface TokenBytes {
  readonly bytes: Uint8Array;
  /** The same memory as `bytes`. */
  readonly view: DataView;
  /** `ends[id]` is the start of token `id`, `ends[id + 1]` its end. */
  readonly ends: Int32Array;
}

/** The bytes behind ids 0 to 255, first and last of each range. */
const BYTE_TOKENS: readonly (readonly [first: number, last: number])[] = [
  [0x21, 0x7e],
  [0xa1, 0xac],
  [0xae, 0xff],
  [0x00, 0x20],
  [0x7f, 0xa0],
  [0xad, 0xad],
];
const BYTE_COUNT = 256;
const TOTAL_BYTES = 1_397_670;

/** Unpacks the tokens. Takes 7 ms. */
export function unpackTokenBytes(): TokenBytes {
  const values = base64Values();
  // Through UTF-8: reading bytes of a typed array is twice as fast as charCodeAt while this is cold.
  const digits = new TextEncoder().encode(vocabulary());
  const merged = ORDINARY_COUNT - BYTE_COUNT;
  const bytes = new Uint8Array(TOTAL_BYTES + SLACK);
  const view = new DataView(bytes.buffer);
  const ends = new Int32Array(ORDINARY_COUNT + 1);

  let id = 0;
  for (const [first, last] of BYTE_TOKENS) {
    for (let byte = first; byte <= last; byte++) {
      bytes[id] = byte;
      ends[++id] = id;
    }
  }
  // One loop without functions: it runs once, and is compiled while it runs.
  let length = BYTE_COUNT;
  for (let at = 0; at < merged; at++) {
    for (let digit = at; digit < digits.length; digit += 3 * merged) {
      const half =
        (values[digits[digit]!]! << 12) |
        (values[digits[digit + merged]!]! << 6) |
        values[digits[digit + 2 * merged]!]!;
      const from = ends[half]!;
      const halfLength = ends[half + 1]! - from;
      // Eight bytes at least, so that most need no loop; what is too much is overwritten by the next.
      view.setInt32(length, view.getInt32(from, true), true);
      view.setInt32(length + 4, view.getInt32(from + 4, true), true);
      for (let i = 8; i < halfLength; i += 4) {
        view.setInt32(length + i, view.getInt32(from + i, true), true);
      }
      length += halfLength;
    }
    ends[++id] = length;
  }
  return { bytes, view, ends };
}

/** A token's bytes as a view, not to be written to. Empty if `id` is no ordinary token. */
export function bytesOf(tokens: TokenBytes, id: TokenId): Uint8Array {
  return tokens.bytes.subarray(tokens.ends[id] ?? 0, tokens.ends[id + 1] ?? 0);
}

/** The six bits that each character of the base64 alphabet stands for; 0 for all others. */
function base64Values(): Uint8Array {
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const values = new Uint8Array(256);
  for (let i = 0; i < alphabet.length; i++) values[alphabet.charCodeAt(i)] = i;
  return values;
}
