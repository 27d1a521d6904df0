/** Text to ids: cut into pieces, look each up, merge the bytes of those that are no token. */

import { createPieceMerger } from "./bpe.ts";
import * as byteWords from "./byte-words.ts";
import { characterSeams } from "./character-seams.ts";
import { createCachedPieceEncoder, MAX_CACHED_BYTES } from "./piece-cache.ts";
import { createScanner } from "./pre-tokenize.ts";
import { createRanks } from "./ranks.ts";
import { TextBytes } from "./text-bytes.ts";
import * as textWindows from "./text-windows.ts";
import type { TokenBytes } from "./token-bytes.ts";
import type { TokenId } from "./tokenizer.ts";

/** Builds a function from text to ids. */
export function createEncoder(tokens: TokenBytes): (text: string) => TokenId[] {
  const ranks = createRanks(tokens);
  const { find } = ranks;
  const merger = createPieceMerger(ranks, characterSeams());
  const encodeCachedPiece = createCachedPieceEncoder(encodePiece);
  const pieceEnd = createScanner();
  // Bound here for the reason given at `createRanks`.
  const { hashOf } = byteWords;
  const { WINDOW, windowEnd } = textWindows;
  const maxCached = MAX_CACHED_BYTES;
  const shared = new TextBytes(WINDOW);

  function encode(text: string): TokenId[] {
    const ids: TokenId[] = [];
    for (let start = 0; start < text.length;) {
      const end = windowEnd(text, start);
      const window = end - start <= WINDOW ? shared : new TextBytes(end - start);
      window.write(text.slice(start, end));
      encodePieces(ids, window);
      start = end;
    }
    return ids;
  }

  function encodePieces(ids: TokenId[], text: TextBytes): void {
    const { view } = text;
    for (let start = 0; start < text.length;) {
      const end = pieceEnd(text, start);
      const length = end - start;
      if (length <= maxCached) encodeCachedPiece(ids, view, start, length);
      else encodePiece(ids, view, start, length, hashOf(view, start, length));
      start = end;
    }
  }

  function encodePiece(
    ids: TokenId[],
    view: DataView,
    start: number,
    length: number,
    hash: number,
  ): void {
    const id = find(view, start, length, hash);
    if (id >= 0) ids.push(id);
    else merger.appendTo(ids, view, start, start + length);
  }

  return encode;
}
