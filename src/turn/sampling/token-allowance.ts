/**
 * Counts an engine's tokens against the maximum of a completion, in any form and regardless of the engine's own counts.
 */
import type { EngineTokens } from "../../engines/engine.ts";
import { o200kHarmony } from "../../tokenizer/index.ts";
import { TextMeter } from "../reading/text-meter.ts";
import { sliceTokens } from "../reading/token-units.ts";

type Ids = Extract<EngineTokens, { type: "ids" }>;
type Pieces = Extract<EngineTokens, { type: "pieces" }>;
type Text = Extract<EngineTokens, { type: "text" }>;

/** Maximum characters of a token in the vocabulary. A reported count that would need longer tokens is ignored. */
const MAX_TOKEN_CHARS = 128;

export class TokenAllowance {
  #left: number;
  /** Absent: no text without a count has been received. */
  #meter: TextMeter | undefined;

  constructor(maxTokens: number) {
    this.#left = maxTokens;
  }

  /** Counts tokens. Returns those that are still allowed: the same object if all are, undefined if none is. */
  take(tokens: EngineTokens): EngineTokens | undefined {
    switch (tokens.type) {
      case "ids":
        return this.#takeIds(tokens);
      case "pieces":
        return this.#takePieces(tokens);
      case "text":
        return tokens.tokens === undefined
          ? this.#takeText(tokens)
          : this.#takeCountedText(tokens, tokens.tokens);
      default:
        return tokens satisfies never;
    }
  }

  #takeIds(tokens: Ids): Ids | undefined {
    const room = this.#spend(tokens.ids.length);
    return room === 0 && tokens.ids.length > 0 ? undefined : sliceTokens(tokens, 0, room);
  }

  #takePieces(tokens: Pieces): Pieces | undefined {
    const { pieces, counts } = tokens;
    let allowed = 0;
    for (const [at, piece] of pieces.entries()) {
      const count = atLeast("text" in piece ? leastTokens(piece.text) : 1, counts[at]);
      if (this.#spend(count) < count) break;
      allowed += 1;
    }
    return allowed === 0 && pieces.length > 0 ? undefined : sliceTokens(tokens, 0, allowed);
  }

  #takeCountedText(tokens: Text, told: number): Text | undefined {
    const count = atLeast(leastTokens(tokens.text), told);
    const room = this.#spend(count);
    if (room >= count) return tokens;
    return nonEmpty(sliceTokens(tokens, 0, Math.floor((tokens.text.length * room) / count)));
  }

  /**
   * Counts text without a reported count, as far as further text cannot reduce its tokens. A server that stops at its
   * limit never exceeds it, and any other is stopped within some words.
   */
  #takeText(tokens: Text): Text | undefined {
    const meter = (this.#meter ??= new TextMeter(o200kHarmony()));
    const room = Math.max(0, this.#left - meter.settled());
    if (leastTokens(tokens.text) <= room) {
      meter.push(tokens.text);
      if (!meter.exceeds(this.#left)) return tokens;
    }
    return nonEmpty({ type: "text", text: firstTokens(tokens.text, room) });
  }

  /** Returns the number of tokens, up to `count`, for which there is room. */
  #spend(count: number): number {
    const room = Math.min(count, this.#left);
    this.#left -= room;
    return room;
  }
}

/** The count that a server reported, unless it cannot be true. */
function atLeast(least: number, told = 0): number {
  return told > least ? told : least;
}

function leastTokens(text: string): number {
  return Math.ceil(text.length / MAX_TOKEN_CHARS);
}

/** The text of the first tokens, without the bytes of an incomplete character. */
function firstTokens(text: string, count: number): string {
  const tokenizer = o200kHarmony();
  const ids = tokenizer.encode(text.slice(0, count * MAX_TOKEN_CHARS)).slice(0, count);
  const decoder = tokenizer.createDecoder();
  return ids.map((id) => decoder.push(id)).join("");
}

function nonEmpty(tokens: Text): Text | undefined {
  return tokens.text === "" ? undefined : tokens;
}
