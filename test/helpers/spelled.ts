/** Prompts and completions written down as text, special tokens by their names. */
import type { CompletionRequest } from "../../src/index.ts";
import { NEUTRAL_SAMPLING } from "../../src/engines/sampling.ts";
import { o200kHarmony, SPECIAL_TOKENS, type TokenId } from "../../src/tokenizer/index.ts";
import { toIdsJson } from "../../src/tokenizer/ids-json.ts";

const SPECIAL_IDS = new Map<string, TokenId>(Object.entries(SPECIAL_TOKENS));
const MARKS = new RegExp(
  `(${[...SPECIAL_IDS.keys()].map((name) => name.replaceAll("|", "\\|")).join("|")})`,
);

export function spelledIds(text: string): TokenId[] {
  return text.split(MARKS).flatMap((part) => SPECIAL_IDS.get(part) ?? o200kHarmony().encode(part));
}

export function spelledPrompt(text: string): CompletionRequest["prompt"] {
  return promptOf(spelledIds(text));
}

export function promptOf(ids: readonly TokenId[]): CompletionRequest["prompt"] {
  const text = () => o200kHarmony().decode(ids);
  return { length: ids.length, ids, idsJson: () => [toIdsJson(ids)], text };
}

/** A request with neutral sampling and room enough. */
export function spelledRequest(
  text: string,
  extra: Partial<CompletionRequest> = {},
): CompletionRequest {
  return {
    prompt: spelledPrompt(text),
    maxTokens: 4096,
    sampling: NEUTRAL_SAMPLING,
    stopIds: [],
    requestId: "req-test",
    ...extra,
  };
}
