/** Text to ids: cut into pieces, look each up, merge the bytes of those that are no token. */

import { PieceMerger } from "./bpe.ts";
import { hashOf } from "./byte-words.ts";
import { findSeams } from "./character-seams.ts";
import { MAX_CACHED_BYTES, PieceCache } from "./piece-cache.ts";
import { createScanner } from "./pre-tokenize.ts";
import { Ranks } from "./ranks.ts";
import { TextBytes } from "./text-bytes.ts";
import { MAX_TOKEN_BYTES, type TokenBytes } from "./token-bytes.ts";
import type { TokenId } from "./tokenizer.ts";
import { windowEnd, WINDOW } from "./text-windows.ts";

export class Encoder {
  readonly #ranks: Ranks;
  readonly #merger: PieceMerger;
  readonly #cache = new PieceCache();
  readonly #pieceEnd = createScanner();
  readonly #window = new TextBytes(WINDOW);

  constructor(tokens: TokenBytes) {
    this.#ranks = new Ranks(tokens);
    this.#merger = new PieceMerger(this.#ranks, findSeams(tokens));
  }

  encode(text: string): TokenId[] {
    const ids: TokenId[] = [];
    for (let start = 0; start < text.length;) {
      const end = windowEnd(text, start);
      const window = end - start <= WINDOW ? this.#window : new TextBytes(end - start);
      window.write(text.slice(start, end));
      this.#encodePieces(window, ids);
      start = end;
    }
    return ids;
  }

  #encodePieces(text: TextBytes, ids: TokenId[]): void {
    const { view, length } = text;
    for (let start = 0; start < length;) {
      const end = this.#pieceEnd(text, start);
      const hash = hashOf(view, start, end);
      const isCacheable = end - start <= MAX_CACHED_BYTES;
      if (!isCacheable || !this.#cache.appendTo(ids, view, start, end, hash)) {
        const from = ids.length;
        this.#encodePiece(text, start, end, hash, ids);
        if (isCacheable) this.#cache.keep(ids, from, view, start, end, hash);
      }
      start = end;
    }
  }

  #encodePiece(text: TextBytes, start: number, end: number, hash: number, ids: TokenId[]): void {
    const id = end - start <= MAX_TOKEN_BYTES ? this.#ranks.find(text.view, start, end, hash) : -1;
    if (id >= 0) ids.push(id);
    else this.#merger.appendTo(ids, text, start, end);
  }
}
