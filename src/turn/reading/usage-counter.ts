/** Counts tokens over all engine calls of a turn. */
import type { EngineTokens, EngineUsage } from "../../engines/engine.ts";
import type { Tokenizer } from "../../tokenizer/index.ts";
import type { TurnUsage } from "../turn.ts";
import { TextMeter } from "./text-meter.ts";

export class UsageCounter {
  readonly #tokenizer: Tokenizer;
  #engineCalls = 0;
  #promptTokens = 0;
  #cachedTokens = 0;
  /** Tokens of the calls before the current one. */
  #finished = 0;
  #toolOutputTokens = 0;
  #current = 0;
  /** Absent: the current call has returned no text without a count. */
  #meter: TextMeter | undefined;
  /**
   * Tokens of the current call. Text that ends within a token is encoded as several, so the count is limited to the
   * requested maximum.
   */
  #maxTokens = Infinity;

  constructor(tokenizer: Tokenizer) {
    this.#tokenizer = tokenizer;
  }

  /** @param sent prompt tokens, used if the engine does not report them. */
  beginCall(sent: number, maxTokens: number): void {
    this.#finished = this.completionTokens();
    this.#current = 0;
    this.#meter = undefined;
    this.#maxTokens = maxTokens;
    this.#engineCalls++;
    if (this.#engineCalls === 1) this.#promptTokens = sent;
  }

  /** Adds the engine's count of cached prompt tokens before the call ends, in case it is cut. */
  addCached(tokens: number): void {
    if (this.#engineCalls !== 1) return;
    this.#cachedTokens = Math.min(toCount(tokens) ?? 0, this.#promptTokens);
  }

  /** Adds output. Call it once per token, and not for tokens after a cut. */
  add(tokens: EngineTokens): void {
    switch (tokens.type) {
      case "ids":
        this.#current += tokens.ids.length;
        break;
      case "pieces":
        for (const count of tokens.counts) this.#current += count;
        break;
      case "text":
        if (tokens.tokens === undefined) {
          this.#meter ??= new TextMeter(this.#tokenizer);
          this.#meter.push(tokens.text);
        } else {
          this.#current += tokens.tokens;
        }
        break;
      default:
        tokens satisfies never;
    }
  }

  /**
   * Adds the engine's own counts, which include tokens that were never sent. Not called if the call was cut.
   */
  endCall(usage: EngineUsage | undefined): void {
    const completion = toCount(usage?.completionTokens);
    if (completion !== undefined) {
      this.#current = completion;
      this.#meter = undefined;
    }
    if (this.#engineCalls > 1) return;
    this.#promptTokens = toCount(usage?.promptTokens) ?? this.#promptTokens;
    const cached = toCount(usage?.cachedTokens) ?? this.#cachedTokens;
    this.#cachedTokens = Math.min(cached, this.#promptTokens);
  }

  /** Counts the tokens of a tool's result. */
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
    const metered = Math.min(this.#meter?.tokens() ?? 0, this.#maxTokens);
    return this.#finished + this.#current + metered;
  }

  toUsage(reasoningTokens: number): TurnUsage {
    const completionTokens = this.completionTokens();
    return {
      promptTokens: this.#promptTokens,
      cachedTokens: this.#cachedTokens,
      completionTokens,
      // Reasoning tokens are estimated separately if an engine returns text.
      reasoningTokens: Math.min(reasoningTokens, completionTokens),
      engineCalls: this.#engineCalls,
    };
  }
}

/** Maximum plausible count, above any context length: larger counts are ignored. */
const MAX_COUNT = 1_000_000_000;

/** Reads a count. Invalid counts are treated as absent. */
function toCount(value: number | undefined): number | undefined {
  const isCount =
    Number.isInteger(value) && value !== undefined && value >= 0 && value <= MAX_COUNT;
  return isCount ? value : undefined;
}
