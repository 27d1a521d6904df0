/** Special tokens by their role in the Harmony format, and the stop tokens of sampling. */

import { SPECIAL_TOKENS } from "../tokenizer/index.ts";
import type { TokenId } from "../tokenizer/index.ts";

/** Begins a header: `<|start|>`. */
export const START = SPECIAL_TOKENS["<|start|>"];
/** Precedes the channel: `<|channel|>`. */
export const CHANNEL = SPECIAL_TOKENS["<|channel|>"];
/** Precedes a content type: `<|constrain|>`. */
export const CONSTRAIN = SPECIAL_TOKENS["<|constrain|>"];
/** Ends the header and begins the body: `<|message|>`. */
export const MESSAGE = SPECIAL_TOKENS["<|message|>"];
/** Ends a message: `<|end|>`. */
export const END = SPECIAL_TOKENS["<|end|>"];
/** Ends a message that is a tool call: `<|call|>`. */
export const CALL = SPECIAL_TOKENS["<|call|>"];
/** Ends the model's turn: `<|return|>`. */
export const RETURN = SPECIAL_TOKENS["<|return|>"];
/** Padding and a stop token of the model; never part of a conversation: `<|endoftext|>`. */
export const END_OF_TEXT = SPECIAL_TOKENS["<|endoftext|>"];

/**
 * Stop tokens for an assistant that may call tools. `<|end|>` is not one: analysis, preamble and answer come
 * in one completion.
 */
export const STOP_IDS: readonly TokenId[] = [RETURN, CALL];
