/**
 * The special tokens of `o200k_harmony`: ids that structure a conversation and are never encoded from text. All ids
 * from 199998 to 201088 are special. Nine of them have a meaning in the Harmony format; all others are called
 * `<|reserved_N|>`.
 */

import type { TokenId } from "./tokenizer.ts";

/**
 * The nine special tokens with a meaning: name → id.
 *
 * @example
 * ```ts
 * import { SPECIAL_TOKENS } from "harmony-gateway/tokenizer";
 *
 * SPECIAL_TOKENS["<|start|>"]; // => 200006
 * ```
 */
export const SPECIAL_TOKENS = {
  "<|startoftext|>": 199998,
  "<|endoftext|>": 199999,
  "<|return|>": 200002,
  "<|constrain|>": 200003,
  "<|channel|>": 200005,
  "<|start|>": 200006,
  "<|end|>": 200007,
  "<|message|>": 200008,
  "<|call|>": 200012,
} as const;

/** A key of {@link SPECIAL_TOKENS}. */
export type SpecialTokenName = keyof typeof SPECIAL_TOKENS;

/**
 * The lowest special id; all ordinary ids are below it.
 *
 * @example
 * ```ts
 * import { FIRST_SPECIAL_ID, isSpecial } from "harmony-gateway/tokenizer";
 *
 * isSpecial(FIRST_SPECIAL_ID - 1); // => false
 * ```
 */
export const FIRST_SPECIAL_ID = 199998;
/** The highest special id, which ends the vocabulary. */
export const LAST_SPECIAL_ID = 201088;

const NAME_BY_ID: ReadonlyMap<TokenId, string> = new Map(
  Object.entries(SPECIAL_TOKENS).map(([name, id]) => [id, name]),
);

/**
 * Whether `id` is a special token, including reserved ones.
 *
 * @example
 * ```ts
 * import { isSpecial } from "harmony-gateway/tokenizer";
 *
 * isSpecial(200006); // => true
 * isSpecial(13225); // => false
 * ```
 */
export function isSpecial(id: TokenId): boolean {
  return id >= FIRST_SPECIAL_ID && id <= LAST_SPECIAL_ID && Number.isInteger(id);
}

/**
 * The name of a special id: `<|start|>`, or `<|reserved_200018|>` for an id without a meaning. `undefined` if
 * `id` is not special.
 *
 * tiktoken calls 200018 `<|endofprompt|>`; the Harmony library reserves it, and so does this one.
 *
 * @example
 * ```ts
 * import { specialTokenName } from "harmony-gateway/tokenizer";
 *
 * specialTokenName(200006); // => "<|start|>"
 * specialTokenName(13225); // => undefined
 * ```
 */
export function specialTokenName(id: TokenId): string | undefined {
  if (!isSpecial(id)) return undefined;
  return NAME_BY_ID.get(id) ?? `<|reserved_${id}|>`;
}
