/** Special tokens by their role in the Harmony format, and the stop tokens of sampling. */

import { SPECIAL_TOKENS } from "../tokenizer/index.ts";
import type { TokenId } from "../tokenizer/index.ts";

/**
 * Begins a header: `<|start|>`.
 *
 * @example
 * ```ts
 * import { START } from "harmony-gateway/harmony";
 *
 * START; // => 200006
 * ```
 */
export const START = SPECIAL_TOKENS["<|start|>"];
/**
 * Precedes the channel: `<|channel|>`.
 *
 * @example
 * ```ts
 * import { CHANNEL } from "harmony-gateway/harmony";
 *
 * CHANNEL; // => 200005
 * ```
 */
export const CHANNEL = SPECIAL_TOKENS["<|channel|>"];
/**
 * Precedes a content type: `<|constrain|>`.
 *
 * @example
 * ```ts
 * import { CONSTRAIN } from "harmony-gateway/harmony";
 *
 * CONSTRAIN; // => 200003
 * ```
 */
export const CONSTRAIN = SPECIAL_TOKENS["<|constrain|>"];
/**
 * Ends the header and begins the body: `<|message|>`.
 *
 * @example
 * ```ts
 * import { MESSAGE } from "harmony-gateway/harmony";
 *
 * MESSAGE; // => 200008
 * ```
 */
export const MESSAGE = SPECIAL_TOKENS["<|message|>"];
/**
 * Ends a message: `<|end|>`.
 *
 * @example
 * ```ts
 * import { END } from "harmony-gateway/harmony";
 *
 * END; // => 200007
 * ```
 */
export const END = SPECIAL_TOKENS["<|end|>"];
/**
 * Ends a message that is a tool call: `<|call|>`.
 *
 * @example
 * ```ts
 * import { CALL } from "harmony-gateway/harmony";
 *
 * CALL; // => 200012
 * ```
 */
export const CALL = SPECIAL_TOKENS["<|call|>"];
/**
 * Ends the model's turn: `<|return|>`.
 *
 * @example
 * ```ts
 * import { RETURN } from "harmony-gateway/harmony";
 *
 * RETURN; // => 200002
 * ```
 */
export const RETURN = SPECIAL_TOKENS["<|return|>"];
/**
 * Padding and a stop token of the model; never part of a conversation: `<|endoftext|>`.
 *
 * @example
 * ```ts
 * import { END_OF_TEXT } from "harmony-gateway/harmony";
 *
 * END_OF_TEXT; // => 199999
 * ```
 */
export const END_OF_TEXT = SPECIAL_TOKENS["<|endoftext|>"];

/**
 * Stop tokens for an assistant that may call tools. `<|end|>` is not one: analysis, preamble and answer come
 * in one completion.
 *
 * @example
 * ```ts
 * import { CALL, RETURN, STOP_IDS } from "harmony-gateway/harmony";
 *
 * STOP_IDS; // => [RETURN, CALL]
 * ```
 */
export const STOP_IDS: readonly TokenId[] = [RETURN, CALL];
