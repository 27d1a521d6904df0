/**
 * The bytes of every ordinary token, unpacked from `vocabulary.ts`.
 *
 *     bytes   … t h e · t o k e n …    all tokens, concatenated     1.4 MB
 *     ends    [id] → end offset                                     0.8 MB
 *
 * Two flat arrays instead of 200,000 objects: js-tiktoken's own maps take 69 MB and half a second.
 *
 * A byte-pair vocabulary is a list of merges: the first 256 tokens are the bytes, and each later one joins two
 * earlier ones, so two 18-bit ids describe it. They are written as base64 digits in columns: the first digit
 * of all left halves, then the second, the third, and the same for the right halves. The leading digits vary
 * little and compress well when they are adjacent.
 */

import { SLACK } from "./byte-words.ts";
import { FIRST_SPECIAL_ID } from "./special-tokens.ts";
import type { TokenId } from "./tokenizer.ts";
import { vocabulary } from "./vocabulary.ts";

/** Number of ordinary tokens; their ids are 0 to one less. */
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

/** The bytes of ids 0 to 255, first and last of each range. */
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
/** Tokens per call of `unpackPart`. */
const PART = 1024;
const DIGIT_VALUES = base64Values();

/** Unpacks the tokens. Takes 7 ms. */
export function unpackTokenBytes(): TokenBytes {
  // Converted to UTF-8 first: reading a typed array is twice as fast as `charCodeAt` in cold code.
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
  for (let at = 0; at < merged; at += PART) {
    unpackPart(view, ends, digits, at, Math.min(at + PART, merged));
  }
  return { bytes, view, ends };
}

/**
 * Unpacks the merged tokens `from … to`. In parts, so that compiled code takes over early; see `fillTables` in
 * `ranks.ts`.
 */
function unpackPart(
  view: DataView,
  ends: Int32Array,
  digits: Uint8Array,
  from: number,
  to: number,
): void {
  const values = DIGIT_VALUES;
  const merged = ORDINARY_COUNT - BYTE_COUNT;
  let length = ends[BYTE_COUNT + from]!;
  for (let at = from; at < to; at++) {
    for (let digit = at; digit < 6 * merged; digit += 3 * merged) {
      const half =
        (values[digits[digit]!]! << 12) |
        (values[digits[digit + merged]!]! << 6) |
        values[digits[digit + 2 * merged]!]!;
      const start = ends[half]!;
      const halfLength = ends[half + 1]! - start;
      // Copies at least eight bytes, so that most tokens need no loop. The next token overwrites the excess.
      view.setInt32(length, view.getInt32(start, true), true);
      view.setInt32(length + 4, view.getInt32(start + 4, true), true);
      for (let i = 8; i < halfLength; i += 4) {
        view.setInt32(length + i, view.getInt32(start + i, true), true);
      }
      length += halfLength;
    }
    ends[BYTE_COUNT + at + 1] = length;
  }
}

/** A view of a token's bytes; do not write to it. Empty if `id` is not an ordinary token. */
export function bytesOf(tokens: TokenBytes, id: TokenId): Uint8Array {
  return tokens.bytes.subarray(tokens.ends[id] ?? 0, tokens.ends[id + 1] ?? 0);
}

/** The six bits of each character of the base64 alphabet; 0 for all others. */
function base64Values(): Uint8Array {
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const values = new Uint8Array(256);
  for (let i = 0; i < alphabet.length; i++) values[alphabet.charCodeAt(i)] = i;
  return values;
}
