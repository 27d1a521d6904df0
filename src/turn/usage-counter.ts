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
  /** Of the first engine call; 0 before it. */
  readonly promptTokens: number;
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
      const completion = toCount(usage?.completionTokens);
      if (completion !== undefined) {
        current = completion;
        text = undefined;
      }
      if (engineCalls > 1) return;
      promptTokens = toCount(usage?.promptTokens) ?? promptTokens;
      cachedTokens = Math.min(toCount(usage?.cachedTokens) ?? 0, promptTokens);
    },
    get promptTokens() {
      return promptTokens;
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

/** The most any context takes: above it, a server counts wrongly. */
const MAX_COUNT = 1_000_000_000;

/** What is no count is as if it were not given. */
function toCount(value: number | undefined): number | undefined {
  const isCount =
    Number.isInteger(value) && value !== undefined && value >= 0 && value <= MAX_COUNT;
  return isCount ? value : undefined;
}
