/**
 * Encodes text to ids: splits it into pieces, looks each piece up, and merges the bytes of those that are not
 * tokens.
 */

import { createPieceMerger } from "./bpe.ts";
import * as byteWords from "./byte-words.ts";
import { createCachedPieceEncoder, MAX_CACHED_BYTES } from "./piece-cache.ts";
import { CHUNK_BYTES, createChunkMerger } from "./piece-chunks.ts";
import { createScanner } from "./pre-tokenize.ts";
import { createRanks } from "./ranks.ts";
import { TextBytes } from "./text-bytes.ts";
import * as textWindows from "./text-windows.ts";
import type { TokenBytes } from "./token-bytes.ts";
import type { EncodeSteps, TokenId } from "./tokenizer.ts";

export interface Encoder {
  encode(text: string, scope?: string): TokenId[];
  encodeInSteps(text: string, scope?: string): EncodeSteps;
}

/** Bytes of ordinary pieces per step: at most 4 ms. */
const STEP_BYTES = 8192;
/** Texts up to this many UTF-16 units take one step, whatever they contain. */
const ONE_STEP = Math.floor(STEP_BYTES / 3);

/**
 * A character whose first byte in UTF-8 is none of those of Latin-1 (C2 and C3), E2, EF and F0 to F4: most other letters,
 * and no punctuation or emoji. See `token-bytes.ts`.
 */
const LETTER = /[^\0-\u00ff\u2000-\u2fff\ud800-\udfff\uf000-\uffff]/;

export function createEncoder(tokens: TokenBytes): Encoder {
  const { find, rankOf, addOthers } = createRanks(tokens);
  const merge = createPieceMerger(rankOf);
  const mergeInChunks = createChunkMerger(tokens, merge);
  const { scopeOf, encode: encodeCachedPiece } = createCachedPieceEncoder(encodePiece);
  const { pieceEnd, addUnicode } = createScanner();
  // Bound here for the reason given at `createRanks`.
  const { hashOf } = byteWords;
  const { WINDOW, windowEnd } = textWindows;
  const maxCached = MAX_CACHED_BYTES;
  const maxWhole = CHUNK_BYTES;
  const short = new TextBytes(ONE_STEP);
  /** A free window, not in use by any encoding. */
  let spare: TextBytes | undefined;
  /** Tables that no text has needed so far are not filled yet. */
  let isAscii = true;
  let isCommon = true;

  /** Returns whether tables were filled for it, which takes up to 10 ms. */
  function write(text: string, into: TextBytes): boolean {
    into.write(text);
    if (!isCommon || into.length === text.length) return false;
    const isFirst = isAscii;
    if (isFirst) {
      isAscii = false;
      addUnicode();
    }
    if (LETTER.test(text)) {
      isCommon = false;
      addOthers();
    }
    return isFirst || !isCommon;
  }

  function encode(text: string, scope = ""): TokenId[] {
    if (text.length <= ONE_STEP) {
      const ids: TokenId[] = [];
      write(text, short);
      encodePieces(ids, short, 0, short.length, scopeOf(scope));
      return ids;
    }
    const steps = encodeInSteps(text, scope);
    let step = steps.next();
    while (!step.done) step = steps.next();
    return step.value;
  }

  function* encodeInSteps(text: string, scope = ""): EncodeSteps {
    const ids: TokenId[] = [];
    const own = spare ?? new TextBytes(WINDOW);
    spare = undefined;
    for (let start = 0; start < text.length;) {
      const end = windowEnd(text, start);
      const window = end - start <= WINDOW ? own : new TextBytes(end - start);
      // Tables are filled in steps of their own, so that the first text that needs them does not hold the event loop for all.
      if (write(text.slice(start, end), window)) yield ids.length;
      for (let at = 0; at < window.length;) {
        const until = Math.min(at + STEP_BYTES, window.length);
        // Looked up in each step, since other encodings run in between.
        const next = encodePieces(ids, window, at, until, scopeOf(scope));
        if (next === at) {
          const longEnd = pieceEnd(window, at);
          for (const _ of mergeInChunks(ids, window.view, at, longEnd)) yield ids.length;
          at = longEnd;
        } else {
          at = next;
          if (at < window.length) yield ids.length;
        }
      }
      start = end;
      if (start < text.length) yield ids.length;
    }
    spare = own;
    return ids;
  }

  /**
   * Encodes all pieces that begin before `until`, or those before a very long one. Returns the offset it has
   * reached.
   */
  function encodePieces(
    ids: TokenId[],
    text: TextBytes,
    from: number,
    until: number,
    scope: number,
  ): number {
    const { view } = text;
    let start = from;
    while (start < until) {
      const end = pieceEnd(text, start);
      const length = end - start;
      if (length <= maxCached) encodeCachedPiece(ids, view, start, length, scope);
      else if (length <= maxWhole)
        encodePiece(ids, view, start, length, hashOf(view, start, length));
      else break;
      start = end;
    }
    return start;
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
    else merge(ids, view, start, start + length);
  }

  return { encode, encodeInSteps };
}
