/** The reads of an engine call, unchanged, bounded in bytes. */
import type { EngineTokens } from "../../engines/engine.ts";
import type { RecordBudget } from "./limits.ts";

export interface TimedTokens {
  /** Milliseconds since the request was accepted. */
  readonly ms: number;
  readonly tokens: EngineTokens;
}

/** Estimated size of a read without its ids or text, and of each id, in bytes. */
const READ_BYTES = 128;
const TOKEN_BYTES = 8;

export class ReadLog {
  readonly reads: TimedTokens[] = [];
  /** Number of units in all reads: ids, pieces or characters. */
  units = 0;
  readonly #budget: RecordBudget;

  constructor(budget: RecordBudget) {
    this.#budget = budget;
  }

  add(tokens: EngineTokens, ms: number): void {
    const units = unitsOf(tokens);
    if (!this.#budget.take(sizeOf(tokens), "reads", units)) return;
    this.units += units;
    this.reads.push({ ms, tokens });
  }
}

/** The number of units in a read: ids, pieces or characters. */
export function unitsOf(tokens: EngineTokens): number {
  switch (tokens.type) {
    case "ids":
      return tokens.ids.length;
    case "pieces":
      return tokens.pieces.length;
    case "text":
      return tokens.text.length;
    default:
      return tokens satisfies never;
  }
}

function sizeOf(tokens: EngineTokens): number {
  switch (tokens.type) {
    case "ids": {
      let bytes = READ_BYTES + tokens.ids.length * TOKEN_BYTES;
      for (const { top } of tokens.logprobs ?? []) bytes += READ_BYTES + top.length * READ_BYTES;
      return bytes;
    }
    case "pieces":
      return tokens.pieces.reduce(
        (sum, piece) => sum + READ_BYTES + ("text" in piece ? piece.text.length * 2 : 0),
        READ_BYTES,
      );
    case "text":
      return READ_BYTES + tokens.text.length * 2;
    default:
      return tokens satisfies never;
  }
}
