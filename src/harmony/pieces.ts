/**
 * Pieces of a prompt: a text with its ids. The renderer encodes each piece separately, like the reference. Texts seen
 * before are not encoded again.
 */

import { toIdsJson } from "../tokenizer/ids-json.ts";
import { digestOf, type IdsDigest } from "./ids-digest.ts";
import { specialTokenName } from "../tokenizer/index.ts";
import type { TokenId, Tokenizer } from "../tokenizer/index.ts";
import { type MemoryBudget, textBytes, TextMemory } from "./text-memory.ts";

/** A stretch of ordinary text, or one special token with its name as text. */
export class Piece {
  readonly text: string;
  /** 4 bytes per id; an array of numbers takes 8 or more. */
  readonly ids: Uint32Array;
  readonly special: boolean;
  #json: Uint8Array | undefined;
  #digest: IdsDigest | undefined;

  constructor(text: string, ids: readonly TokenId[], special: boolean) {
    this.text = text;
    this.ids = Uint32Array.from(ids);
    this.special = special;
  }

  /** The ids as JSON in UTF-8, each after a comma. Computed once; do not change them. */
  idsJson(): Uint8Array {
    return (this.#json ??= toIdsJson(this.ids));
  }

  /** The digest of the ids, computed once. */
  digest(): IdsDigest {
    return (this.#digest ??= digestOf(this.ids));
  }
}

export function specialPiece(id: TokenId): Piece {
  return new Piece(specialTokenName(id) ?? "", [id], true);
}

/** Encodes texts to pieces. Results are cached per scope. */
export interface PieceEncoder {
  encode(text: string, scope: string): Piece;
  /** Like {@link encode}, in steps of a few milliseconds. Each step yields the number of ids so far. */
  encodeInSteps(text: string, scope: string): Generator<number, Piece>;
  /** Returns the piece if the text is cached. */
  find(text: string, scope: string): Piece | undefined;
}

export function createPieceEncoder(tokenizer: Tokenizer, budget: MemoryBudget): PieceEncoder {
  const memory = new TextMemory<Piece>({
    budget,
    // An id takes 4 bytes and, as JSON, at most 7. The size of a short piece's objects was measured.
    bytesOf: (text, { ids }) => textBytes(text) + 11 * ids.length + 640,
  });
  const keep = (text: string, scope: string, ids: readonly TokenId[]): Piece => {
    const piece = new Piece(text, ids, false);
    memory.keep(text, scope, piece);
    return piece;
  };
  return {
    find: (text, scope) => memory.find(text, scope),
    encode: (text, scope) =>
      memory.find(text, scope) ?? keep(text, scope, tokenizer.encode(text, scope)),
    *encodeInSteps(text, scope) {
      return (
        memory.find(text, scope) ?? keep(text, scope, yield* tokenizer.encodeInSteps(text, scope))
      );
    },
  };
}
