/** Counts tokens over all engine calls of a turn. */
import type { EngineUsage } from "../engines/engine.ts";
import type { TurnUsage } from "./turn.ts";

export interface UsageCounter {
  /**
   * `promptTokens`: tokens sent, used if the engine does not report them. `arriving`: counts output that
   * arrives as text.
   */
  beginCall(promptTokens: number, arriving?: { tokens(): number }): void;
  /** Takes the engine's count of cached prompt tokens before the call ends, in case it is cut. */
  addCached(tokens: number): void;
  /** Adds output tokens of known count. */
  add(tokens: number): void;
  /**
   * Adds the engine's own counts, which include tokens that were never sent. Not called if the call was cut.
   */
  endCall(usage: EngineUsage | undefined): void;
  /** Tokens of a tool's result. */
  addToolOutput(tokens: number): void;
  toolOutputTokens(): number;
  /** Of the first engine call; 0 before it. */
  promptTokens(): number;
  completionTokens(): number;
  toUsage(reasoningTokens: number): TurnUsage;
}

export function createUsageCounter(): UsageCounter {
  let engineCalls = 0;
  let promptTokens = 0;
  let cachedTokens = 0;
  let finished = 0;
  let toolOutputTokens = 0;
  let current = 0;
  let text: { tokens(): number } | undefined;

  const completionTokens = () => finished + current + (text?.tokens() ?? 0);

  return {
    beginCall(sent, arriving) {
      finished = completionTokens();
      current = 0;
      text = arriving;
      engineCalls++;
      if (engineCalls === 1) promptTokens = sent;
    },
    addCached(tokens) {
      if (engineCalls === 1) cachedTokens = Math.min(toCount(tokens) ?? 0, promptTokens);
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
      cachedTokens = Math.min(toCount(usage?.cachedTokens) ?? cachedTokens, promptTokens);
    },
    addToolOutput(tokens) {
      toolOutputTokens += tokens;
    },
    toolOutputTokens: () => toolOutputTokens,
    promptTokens: () => promptTokens,
    completionTokens,
    toUsage: (reasoningTokens) => ({
      promptTokens,
      cachedTokens,
      completionTokens: completionTokens(),
      // Estimated separately where an engine returns text.
      reasoningTokens: Math.min(reasoningTokens, completionTokens()),
      engineCalls,
    }),
  };
}

/** More than any context length: larger counts are ignored as wrong. */
const MAX_COUNT = 1_000_000_000;

/** Invalid counts are treated as absent. */
function toCount(value: number | undefined): number | undefined {
  const isCount =
    Number.isInteger(value) && value !== undefined && value >= 0 && value <= MAX_COUNT;
  return isCount ? value : undefined;
}
