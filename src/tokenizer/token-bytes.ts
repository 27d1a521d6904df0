/**
 * The bytes of every ordinary token, unpacked from js-tiktoken's copy of `o200k_base`: one string,
 * `! 0 IQ== Ig== …`, which is each token in base64, in the order of the ids.
 *
 *     bytes   … t h e · t o k e n …    all tokens, one behind the other    1.4 MB
 *     ends    [id] → where it ends                                         0.8 MB
 *
 * Two flat arrays instead of 200,000 objects: js-tiktoken's own maps take 69 MB and half a second.
 */

import o200kBase from "js-tiktoken/ranks/o200k_base";
import { FIRST_SPECIAL_ID } from "./special-tokens.ts";
import type { TokenId } from "./tokenizer.ts";
import { SLACK } from "./byte-words.ts";

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

const HEADER = "! 0 ";
const SPACE = 0x20;
const PADDING = 0x3d;

/** Unpacks the tokens. Takes 8 ms. */
export function unpackTokenBytes(): TokenBytes {
  const packed = o200kBase.bpe_ranks;
  const values = base64Values();
  // Through UTF-8: reading bytes of a typed array is twice as fast as charCodeAt while this is cold.
  const text = new TextEncoder().encode(`${packed.slice(HEADER.length)} `);
  const bytes = new Uint8Array(Math.ceil((text.length * 3) / 4) + SLACK);
  const ends = new Int32Array(ORDINARY_COUNT + 1);

  let length = 0;
  let id = 0;
  for (let i = 0; i < text.length; i++) {
    for (; text[i] !== SPACE; i += 4) {
      const third = text[i + 2]!;
      const fourth = text[i + 3]!;
      const bits =
        (values[text[i]!]! << 18) |
        (values[text[i + 1]!]! << 12) |
        (values[third]! << 6) |
        values[fourth]!;
      bytes[length++] = bits >> 16;
      if (third !== PADDING) bytes[length++] = bits >> 8;
      if (fourth !== PADDING) bytes[length++] = bits;
    }
    ends[++id] = length;
  }
  const exact = bytes.slice(0, length + SLACK);
  return { bytes: exact, view: new DataView(exact.buffer), ends };
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
