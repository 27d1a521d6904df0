/** Counts tokens over all engine calls of a turn. */
import type { EngineUsage } from "../../engines/engine.ts";
import type { TurnUsage } from "../turn.ts";

export class UsageCounter {
  #engineCalls = 0;
  #promptTokens = 0;
  #cachedTokens = 0;
  /** Tokens of the calls before the current one. */
  #finished = 0;
  #toolOutputTokens = 0;
  #current = 0;
  #text: { tokens(): number } | undefined;

  /**
   * @param sent prompt tokens, used if the engine does not report them.
   * @param arriving counts output that arrives as text.
   */
  beginCall(sent: number, arriving?: { tokens(): number }): void {
    this.#finished = this.completionTokens();
    this.#current = 0;
    this.#text = arriving;
    this.#engineCalls++;
    if (this.#engineCalls === 1) this.#promptTokens = sent;
  }

  /** Takes the engine's count of cached prompt tokens before the call ends, in case it is cut. */
  addCached(tokens: number): void {
    if (this.#engineCalls !== 1) return;
    this.#cachedTokens = Math.min(toCount(tokens) ?? 0, this.#promptTokens);
  }

  /** Adds output tokens of known count. */
  add(tokens: number): void {
    this.#current += tokens;
  }

  /**
   * Adds the engine's own counts, which include tokens that were never sent. Not called if the call was cut.
   */
  endCall(usage: EngineUsage | undefined): void {
    const completion = toCount(usage?.completionTokens);
    if (completion !== undefined) {
      this.#current = completion;
      this.#text = undefined;
    }
    if (this.#engineCalls > 1) return;
    this.#promptTokens = toCount(usage?.promptTokens) ?? this.#promptTokens;
    const cached = toCount(usage?.cachedTokens) ?? this.#cachedTokens;
    this.#cachedTokens = Math.min(cached, this.#promptTokens);
  }

  /** Tokens of a tool's result. */
  addToolOutput(tokens: number): void {
    this.#toolOutputTokens += tokens;
  }

  toolOutputTokens(): number {
    return this.#toolOutputTokens;
  }

  /** Prompt tokens of the first engine call; 0 before it. */
  promptTokens(): number {
    return this.#promptTokens;
  }

  completionTokens(): number {
    return this.#finished + this.#current + (this.#text?.tokens() ?? 0);
  }

  toUsage(reasoningTokens: number): TurnUsage {
    const completionTokens = this.completionTokens();
    return {
      promptTokens: this.#promptTokens,
      cachedTokens: this.#cachedTokens,
      completionTokens,
      // Estimated separately where an engine returns text.
      reasoningTokens: Math.min(reasoningTokens, completionTokens),
      engineCalls: this.#engineCalls,
    };
  }
}

/** More than any context length: larger counts are ignored as wrong. */
const MAX_COUNT = 1_000_000_000;

/** Invalid counts are treated as absent. */
function toCount(value: number | undefined): number | undefined {
  const isCount =
    Number.isInteger(value) && value !== undefined && value >= 0 && value <= MAX_COUNT;
  return isCount ? value : undefined;
}
