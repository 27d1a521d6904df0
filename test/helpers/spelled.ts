/** Prompts and completions written down as text, special tokens by their names. */
import type { CompletionRequest } from "../../src/index.ts";
import { o200kHarmony, SPECIAL_TOKENS, type TokenId } from "../../src/tokenizer/index.ts";

const SPECIAL_IDS = new Map<string, TokenId>(Object.entries(SPECIAL_TOKENS));
const MARKS = new RegExp(
  `(${[...SPECIAL_IDS.keys()].map((name) => name.replaceAll("|", "\\|")).join("|")})`,
);

/** The model's own distribution, as the APIs request it by default. */
export const NEUTRAL_SAMPLING: CompletionRequest["sampling"] = {
  temperature: 1,
  topP: 1,
  topK: 0,
  minP: 0,
  frequencyPenalty: 0,
  presencePenalty: 0,
  repetitionPenalty: 1,
};

export function spelledIds(text: string): TokenId[] {
  return text.split(MARKS).flatMap((part) => SPECIAL_IDS.get(part) ?? o200kHarmony().encode(part));
}

export function spelledPrompt(text: string): CompletionRequest["prompt"] {
  return promptOf(spelledIds(text));
}

export function promptOf(ids: readonly TokenId[]): CompletionRequest["prompt"] {
  const json = ids.map((id) => `,${id}`).join("");
  return {
    length: ids.length,
    ids,
    idsJson: () => [new TextEncoder().encode(json)],
    text: () => o200kHarmony().decode(ids),
  };
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
