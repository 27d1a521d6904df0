/** The `o200k_harmony` tokenizer: text to ids and back. Usable on its own, on any runtime. */

// Text to ids and back
export { createDecoder, o200kHarmony } from "./o200k-harmony.ts";
export type { EncodeSteps, StreamingDecoder, TokenId, Tokenizer } from "./tokenizer.ts";

// One id
export { tokenBytes, tokenText } from "./o200k-harmony.ts";

// Special tokens
export { FIRST_SPECIAL_ID, isSpecial, SPECIAL_TOKENS, specialTokenName } from "./special-tokens.ts";
export type { SpecialTokenName } from "./special-tokens.ts";
