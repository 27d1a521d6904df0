/**
 * The bytes of every ordinary token, unpacked from `vocabulary.json`.
 *
 *     bytes    … t h e · t o k e n …            all tokens, concatenated     1.4 MB
 *     places   [id] → where it begins · length                               0.8 MB
 *
 * Two flat arrays instead of 200,000 objects: js-tiktoken's own maps take 69 MB and half a second.
 *
 * A byte-pair vocabulary is a list of merges: the first 256 tokens are the bytes, and each later one joins two earlier
 * ones, so two 18-bit ids describe it. They are written as base64 digits in columns: the first digit of all left
 * halves, then the second and the third, then the digits of the right halves. The leading digits vary little and
 * compress well when they are adjacent.
 *
 * Most processes at first need only two thirds of the tokens, the common ones: Latin-1 with ASCII, punctuation, signs
 * and emoji, that is tokens without any of the bytes C4 to E1 and E3 to EE, with which the letters of other scripts
 * begin. The text therefore has three parts: a bit for each merged token that marks it as common, the columns of common
 * tokens, and the columns of all others, which are unpacked when one of them is first looked up. The halves of a common
 * token are common.
 */

import * as byteWords from "./byte-words.ts";
import { FIRST_SPECIAL_ID } from "./special-tokens.ts";
import {
  createTokenTables,
  ID_BITS,
  SEEN_BITS,
  SLOT_BITS,
  SLOT_MASK,
  type TokenTables,
} from "./token-tables.ts";
import type { TokenId } from "./tokenizer.ts";
import { vocabulary } from "./vocabulary.ts";

/** Number of ordinary tokens; their ids are 0 to one less. */
export const ORDINARY_COUNT = FIRST_SPECIAL_ID;
/** Bytes of the longest token. */
export const MAX_TOKEN_BYTES = 128;

export interface TokenBytes {
  readonly bytes: Uint8Array;
  /** A view of the memory of `bytes`. */
  readonly view: DataView;
  /** Places by id: see {@link startOf} and {@link lengthOf}. 0 for a token that is not unpacked yet. */
  readonly places: Int32Array;
  /** Tables of the unpacked tokens of at least two bytes. */
  readonly tables: TokenTables;
  /** All single bytes, and the common tokens, in rising order. */
  readonly commonIds: Int32Array;
  /** The other tokens, unpacked by the first call. */
  readonly otherIds: () => Int32Array;
}

type Unpacked = Pick<TokenBytes, "view" | "places" | "tables">;

/** The bytes of ids 0 to 255, first and last of each range. */
const BYTE_TOKENS: readonly (readonly [first: number, last: number])[] = [
  [0x21, 0x7e],
  [0xa1, 0xac],
  [0xae, 0xff],
  [0x00, 0x20],
  [0x7f, 0xa0],
  [0xad, 0xad],
];
/** Number of single-byte tokens. Ids below it are single bytes, all others merge two tokens. */
export const BYTE_COUNT = 256;
const MERGED_COUNT = ORDINARY_COUNT - BYTE_COUNT;
const COMMON_COUNT = 138_449;
/** Digits in the first part of the vocabulary's text. */
const BIT_DIGITS = Math.ceil(MERGED_COUNT / 6);
/** Digits of a merged token. */
const DIGITS = 6;
const TOTAL_BYTES = 1_397_670;
const LENGTH_BITS = 8;
const LENGTH_MASK = (1 << LENGTH_BITS) - 1;
/** Tokens per call of `unpackPart`. */
const PART = 128;
const DIGIT_VALUES = base64Values();

/** Unpacks the common tokens and builds their tables. Takes 15 ms. */
export function unpackTokenBytes(): TokenBytes {
  const bytes = new Uint8Array(TOTAL_BYTES + byteWords.SLACK);
  const view = new DataView(bytes.buffer);
  const places = new Int32Array(ORDINARY_COUNT);
  const tables = createTokenTables();
  const into = { view, places, tables };
  const text = vocabulary();
  const byteIds = idsOfBytes();
  for (const [byte, id] of byteIds.entries()) {
    bytes[id] = byte;
    places[id] = (id << LENGTH_BITS) | 1;
  }

  const commonIds = new Int32Array(BYTE_COUNT + COMMON_COUNT);
  commonIds.set(byteIds.toSorted());
  const merged = commonIds.subarray(BYTE_COUNT);
  readIds(merged, text, true);
  const columnsEnd = BIT_DIGITS + DIGITS * COMMON_COUNT;
  const end = unpack(into, merged, text.slice(BIT_DIGITS, columnsEnd), BYTE_COUNT);

  let others: Int32Array | undefined;
  const otherIds = () => {
    if (others === undefined) {
      others = new Int32Array(MERGED_COUNT - COMMON_COUNT);
      readIds(others, text, false);
      unpack(into, others, text.slice(columnsEnd), end);
    }
    return others;
  };
  return { bytes, view, places, tables, commonIds, otherIds };
}

/** The offset of a token's first byte, by its entry in {@link TokenBytes.places}. */
export function startOf(place: number): number {
  return place >> LENGTH_BITS;
}

/** The number of a token's bytes, by its entry in {@link TokenBytes.places}. */
export function lengthOf(place: number): number {
  return place & LENGTH_MASK;
}

/** The ids of single bytes, by byte. */
export function idsOfBytes(): Int32Array {
  const ids = new Int32Array(BYTE_COUNT);
  let id = 0;
  for (const [first, last] of BYTE_TOKENS) {
    for (let byte = first; byte <= last; byte++) ids[byte] = id++;
  }
  return ids;
}

/** Writes the ids of all merged tokens that are common, or of all that are not. */
function readIds(ids: Int32Array, text: string, areCommon: boolean): void {
  const digits = toBytes(text.slice(0, BIT_DIGITS));
  const inverted = areCommon ? 0 : 63;
  let at = 0;
  for (let digit = 0; digit < BIT_DIGITS; digit++) {
    let bits = DIGIT_VALUES[digits[digit]!]! ^ inverted;
    for (let id = BYTE_COUNT + 6 * digit; bits !== 0; id++) {
      if ((bits & 32) !== 0) ids[at++] = id;
      bits = (bits << 1) & 63;
    }
  }
}

/** Unpacks the tokens with these ids and columns, to `offset` of the bytes. Returns the offset of their end. */
function unpack(into: Unpacked, ids: Int32Array, columns: string, offset: number): number {
  const digits = toBytes(columns);
  let end = offset;
  for (let at = 0; at < ids.length; at += PART) {
    end = unpackPart(into, ids, digits, at, Math.min(at + PART, ids.length), end);
  }
  return end;
}

/**
 * Unpacks the tokens `ids[from … to)`, and enters them into the tables.
 *
 * It works in parts: the first calls are interpreted, then V8 compiles the function and uses the result from the next
 * call on. A single loop over all tokens takes 1.5 times as long, because it can switch to compiled code only in its
 * middle (on-stack replacement). Functions such as `hashOf` are inlined manually, since calls are expensive in
 * interpreted code. Branches that the first tokens do not take are avoided, because compiled code would return to the
 * interpreter there.
 */
function unpackPart(
  { view, places, tables: { slots, seen, pairs } }: Unpacked,
  ids: Int32Array,
  digits: Uint8Array,
  from: number,
  to: number,
  offset: number,
): number {
  const { HIGH_MASKS, LAST_MASKS, LOW_MASKS } = byteWords;
  const values = DIGIT_VALUES;
  const count = ids.length;
  let end = offset;
  for (let at = from; at < to; at++) {
    const start = end;
    for (let digit = at; digit < 6 * count; digit += 3 * count) {
      const half =
        (values[digits[digit]!]! << 12) |
        (values[digits[digit + count]!]! << 6) |
        values[digits[digit + 2 * count]!]!;
      const place = places[half]!;
      const halfStart = place >> LENGTH_BITS;
      const halfLength = place & LENGTH_MASK;
      // Copies at least eight bytes, so that most tokens need no loop. The next token overwrites the excess.
      view.setInt32(end, view.getInt32(halfStart, true), true);
      view.setInt32(end + 4, view.getInt32(halfStart + 4, true), true);
      for (let i = 8; i < halfLength; i += 4) {
        view.setInt32(end + i, view.getInt32(halfStart + i, true), true);
      }
      end += halfLength;
    }
    const id = ids[at]!;
    const length = end - start;
    places[id] = (start << LENGTH_BITS) | length;
    const lastMask = LAST_MASKS[length]!;
    const low =
      (view.getInt32(start, true) & LOW_MASKS[length]!) ^
      (view.getInt32(start + ((length - 4) & lastMask), true) & lastMask);
    const high = view.getInt32(start + 4, true) & HIGH_MASKS[length]!;
    let hash = Math.imul(low, 0x2c9277b5) ^ Math.imul(high + length, 0x85ebca6b);
    hash = Math.imul(hash ^ (hash >>> 15), 0x27d4eb2f);
    hash ^= hash >>> 14;
    let slot = (hash >>> (32 - SLOT_BITS)) - 1;
    do slot = (slot + 1) & SLOT_MASK;
    while (slots[slot] !== 0);
    if (length === 2) pairs[low] = id;
    slots[slot] = (hash << ID_BITS) | (id + 1);
    seen[hash >>> (32 - SEEN_BITS + 5)]! |= 1 << (hash >>> (32 - SEEN_BITS));
  }
  return end;
}

/** A view of a token's bytes; do not write to it. Empty if `id` is not an ordinary token. */
export function bytesOf(tokens: TokenBytes, id: TokenId): Uint8Array {
  if (tokens.places[id] === 0) tokens.otherIds();
  const place = tokens.places[id] ?? 0;
  const start = startOf(place);
  return tokens.bytes.subarray(start, start + lengthOf(place));
}

/** Reading a typed array is twice as fast as `charCodeAt` in cold code. */
function toBytes(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

/** The six bits of each character of the base64 alphabet; 0 for all others. */
function base64Values(): Uint8Array {
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const values = new Uint8Array(256);
  for (let i = 0; i < alphabet.length; i++) values[alphabet.charCodeAt(i)] = i;
  return values;
}
