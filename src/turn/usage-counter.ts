/** Counting tokens over all engine calls of a turn. */
import type { EngineUsage } from "../engines/engine.ts";
import type { TurnUsage } from "./turn.ts";

export interface UsageCounter {
  /**
   * `promptTokens`: what was sent, in case the engine does not say. `arriving`: counts what arrives as text.
   */
  beginCall(promptTokens: number, arriving?: { readonly tokens: number }): void;
  /** Tokens that arrived counted. */
  add(tokens: number): void;
  /** The engine's own counts, which know of tokens that never arrived. Not called when a call was cut short. */
  endCall(usage: EngineUsage | undefined): void;
  readonly completionTokens: number;
  toUsage(reasoningTokens: number): TurnUsage;
}

export function createUsageCounter(): UsageCounter {
  let engineCalls = 0;
  let promptTokens = 0;
  let cachedTokens = 0;
  let finished = 0;
  let current = 0;
  let text: { readonly tokens: number } | undefined;

  const completionTokens = () => finished + current + (text?.tokens ?? 0);

  return {
    beginCall(sent, arriving) {
      finished = completionTokens();
      current = 0;
      text = arriving;
      engineCalls++;
      if (engineCalls === 1) promptTokens = sent;
    },
    add(tokens) {
      current += tokens;
    },
    endCall(usage) {
      if (usage?.completionTokens !== undefined) {
        current = usage.completionTokens;
        text = undefined;
      }
      if (engineCalls > 1) return;
      promptTokens = usage?.promptTokens ?? promptTokens;
      cachedTokens = usage?.cachedTokens ?? 0;
    },
    get completionTokens() {
      return completionTokens();
    },
    toUsage: (reasoningTokens) => ({
      promptTokens,
      cachedTokens,
      completionTokens: completionTokens(),
      reasoningTokens,
      engineCalls,
    }),
  };
}
