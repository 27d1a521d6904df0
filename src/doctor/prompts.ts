/** The prompts of the doctor. */
import { CHANNEL, MESSAGE } from "../harmony/tokens.ts";
import { systemMessage, userMessage } from "../harmony/messages.ts";
import { toPromptText } from "../harmony/prompt-text.ts";
import { createRenderer } from "../harmony/render.ts";
import type { Prompt } from "../engines/engine.ts";
import { toIdsJson } from "../tokenizer/ids-json.ts";
import { o200kHarmony, SPECIAL_TOKENS, type TokenId } from "../tokenizer/index.ts";

/** A special token by its id, or text. */
export type Part = TokenId | string;

export const FINAL: readonly Part[] = [CHANNEL, "final", MESSAGE];

export const SYSTEM = systemMessage({
  identity: "You are ChatGPT, a large language model trained by OpenAI.",
  effort: "low",
});

export function toIds(parts: readonly Part[]): TokenId[] {
  return parts.flatMap((part) => (typeof part === "string" ? o200kHarmony().encode(part) : part));
}

/**
 * A user's question, up to the point at which the model continues: in a message that `opened` begins, or before any header.
 */
export function conversation(question: string, opened: readonly Part[] = []): TokenId[] {
  const messages = [SYSTEM, userMessage(question)];
  return [...createRenderer().renderCompletion({ messages }).ids, ...toIds(opened)];
}

export function toPrompt(ids: readonly TokenId[]): Prompt {
  return {
    length: ids.length,
    ids,
    idsJson: () => [toIdsJson(ids)],
    text: () => toPromptText(ids).text,
  };
}

const SPECIAL_IDS = new Map<string, TokenId>(Object.entries(SPECIAL_TOKENS));
const SPELLED = new RegExp(
  `(${[...SPECIAL_IDS.keys()].map((name) => name.replaceAll("|", "\\|")).join("|")})`,
);

/** Number of tokens in a text with spelled control tokens. */
export function countTokens(text: string): number {
  let tokens = 0;
  for (const part of text.split(SPELLED)) {
    tokens += SPECIAL_IDS.has(part) ? 1 : o200kHarmony().encode(part).length;
  }
  return tokens;
}
