/**
 * Text and the ids it is encoded to. The renderer writes a prompt as a list of pieces, each its own
 * BPE run as in the reference, and texts seen before are not encoded again.
 */

import { specialTokenName } from "../tokenizer/index.ts";
import type { TokenId, Tokenizer } from "../tokenizer/index.ts";
import { rememberByText } from "./text-memory.ts";

/** A run of ordinary text, or one special token with its name as text. */
export class Piece {
  readonly text: string;
  /** 4 bytes an id, where an array of numbers takes 8 and more. */
  readonly ids: Uint32Array;
  readonly special: boolean;
  #json: string | undefined;

  constructor(text: string, ids: readonly TokenId[], special: boolean) {
    this.text = text;
    this.ids = Uint32Array.from(ids);
    this.special = special;
  }

  /** The ids as JSON text without brackets; made once. */
  idsJson(): string {
    // JSON.stringify of an array is three times as fast as Uint32Array.join.
    return (this.#json ??= JSON.stringify(Array.from(this.ids)).slice(1, -1));
  }
}

export function specialPiece(id: TokenId): Piece {
  return new Piece(specialTokenName(id) ?? "", [id], true);
}

/** A function from text to its piece that remembers what it encoded, up to about `maxBytes`. */
export function createEncoder(tokenizer: Tokenizer, maxBytes: number): (text: string) => Piece {
  return rememberByText((text) => new Piece(text, tokenizer.encode(text), false), {
    maxBytes,
    // An upper estimate: two a character, four an id, eight for the id as JSON, and the objects.
    bytesOf: (text, { ids }) => 2 * text.length + 12 * ids.length + 200,
  });
}
