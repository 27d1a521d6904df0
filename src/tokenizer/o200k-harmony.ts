/**
 * The `o200k_harmony` vocabulary: the 199,998 tokens of `o200k_base` and Harmony's special ids.
 *
 * All data is built on first use, and only if needed: tables for encoding and texts for decoding are separate, and
 * share the tokens' bytes.
 */

import { Decoder } from "./decoder.ts";
import { Encoder } from "./encoder.ts";
import { bytesOf, type TokenBytes, unpackTokenBytes } from "./token-bytes.ts";
import { TokenTexts } from "./token-texts.ts";
import type { StreamingDecoder, TokenId, Tokenizer } from "./tokenizer.ts";

let sharedTokens: TokenBytes | undefined;
let sharedEncoder: Encoder | undefined;
let sharedTexts: TokenTexts | undefined;

const O200K_HARMONY: Tokenizer = {
  encode: (text, scope) => encoder().encode(text, scope),
  encodeInSteps: (text, scope) => encoder().encodeInSteps(text, scope),
  decode,
  createDecoder,
};

/**
 * The tokenizer of gpt-oss. Returns the same instance for the whole process.
 *
 * @example
 * ```ts
 * import { o200kHarmony } from "harmony-gateway/tokenizer";
 *
 * o200kHarmony().encode("Hello, world!"); // => [13225, 11, 2375, 0]
 * o200kHarmony().decode([13225, 11, 2375, 0]); // => "Hello, world!"
 * ```
 */
export function o200kHarmony(): Tokenizer {
  return O200K_HARMONY;
}

/**
 * A decoder for ids that arrive one by one: `o200kHarmony().createDecoder()`.
 *
 * @example
 * ```ts
 * import { createDecoder, o200kHarmony } from "harmony-gateway/tokenizer";
 *
 * const decoder = createDecoder();
 * const texts = o200kHarmony()
 *   .encode("\u{1F9FF}")
 *   .map((id) => decoder.push(id));
 * texts.join(""); // => "\u{1F9FF}"
 * texts[0]; // => ""
 * ```
 */
export function createDecoder(): StreamingDecoder {
  return new Decoder(tokens(), texts());
}

/**
 * The text of one id, if it has its own text: `" world"` for 2375. `undefined` for a token that is only part
 * of a character, for special ids and for ids outside the vocabulary; in a stream, pass such ids to a
 * decoder.
 *
 * An id always returns one string object, at the cost of two array accesses.
 *
 * @example
 * ```ts
 * import { tokenText } from "harmony-gateway/tokenizer";
 *
 * tokenText(13225); // => "Hello"
 * ```
 */
export function tokenText(id: TokenId): string | undefined {
  return texts().textOf(id);
}

/**
 * A copy of the bytes of one ordinary id, even if they are not whole characters. `undefined` for special ids
 * and ids outside the vocabulary.
 *
 * @example
 * ```ts
 * import { tokenBytes } from "harmony-gateway/tokenizer";
 *
 * tokenBytes(13225); // => new TextEncoder().encode("Hello")
 * ```
 */
export function tokenBytes(id: TokenId): Uint8Array<ArrayBuffer> | undefined {
  const bytes = bytesOf(tokens(), id);
  return bytes.length > 0 ? new Uint8Array(bytes) : undefined;
}

function decode(ids: readonly TokenId[]): string {
  const decoder = createDecoder();
  let text = "";
  for (const id of ids) text += decoder.push(id);
  return text + decoder.end();
}

function encoder(): Encoder {
  return (sharedEncoder ??= new Encoder(tokens()));
}

function texts(): TokenTexts {
  return (sharedTexts ??= new TokenTexts(tokens()));
}

function tokens(): TokenBytes {
  return (sharedTokens ??= unpackTokenBytes());
}
