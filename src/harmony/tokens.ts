/** The special tokens by their part in the Harmony format, and the sets that end something. */

import { SPECIAL_TOKENS } from "../tokenizer/index.ts";
import type { TokenId } from "../tokenizer/index.ts";

/** A header begins: `<|start|>`. */
export const START = SPECIAL_TOKENS["<|start|>"];
/** The channel follows: `<|channel|>`. */
export const CHANNEL = SPECIAL_TOKENS["<|channel|>"];
/** Marks a content type: `<|constrain|>`. */
export const CONSTRAIN = SPECIAL_TOKENS["<|constrain|>"];
/** The header ends, the body begins: `<|message|>`. */
export const MESSAGE = SPECIAL_TOKENS["<|message|>"];
/** The message is over: `<|end|>`. */
export const END = SPECIAL_TOKENS["<|end|>"];
/** The message is over and is a tool call: `<|call|>`. */
export const CALL = SPECIAL_TOKENS["<|call|>"];
/** The model's turn is over: `<|return|>`. */
export const RETURN = SPECIAL_TOKENS["<|return|>"];
/** Padding and a stop token of the model; never part of a conversation: `<|endoftext|>`. */
export const END_OF_TEXT = SPECIAL_TOKENS["<|endoftext|>"];

/**
 * Where sampling an assistant that may act has to stop. `<|end|>` is not among them: analysis, preamble
 * and answer come in one completion.
 */
export const STOP_IDS: readonly TokenId[] = [RETURN, CALL];
