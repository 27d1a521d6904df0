/**
 * Remembers the ids of pieces met before. Words repeat: in a text that is new as a whole, most
 * pieces are not, and an answer from 256 KB beats one from the 4 MB behind `Ranks`, let alone a
 * merge (prose and code 1.2 to 1.4 times as fast, repeated text 1.5 times).
 *
 * Direct-mapped: a piece has one place, and a newcomer takes it over, so the size never grows.
 *
 *     entry, eight words:   the piece's bytes ×4 · length, count · ids ×3
 *
 * Longer pieces and pieces of more ids are not kept.
 */

import { highWord, lowWord } from "./byte-words.ts";
import type { TokenId } from "./tokenizer.ts";

/** Bytes of the longest piece that can be kept. */
export const MAX_CACHED_BYTES = 16;

const MAX_IDS = 3;
const ENTRY_BITS = 13;
const WORDS = 8;
const COUNT_SHIFT = 8;
const LENGTH_MASK = 0xff;

export class PieceCache {
  readonly #entries = new Int32Array(WORDS << ENTRY_BITS);

  /** Appends the ids of the piece `view[start … end)` with this hash if they are known. */
  appendTo(ids: TokenId[], view: DataView, start: number, end: number, hash: number): boolean {
    const entries = this.#entries;
    const at = entryOf(hash);
    const length = end - start;
    const meta = entries[at + 4]!;
    if ((meta & LENGTH_MASK) !== length) return false;
    if (length <= 8) {
      if (entries[at] !== lowWord(view, start, length)) return false;
      if (entries[at + 1] !== highWord(view, start, length)) return false;
    } else {
      if (entries[at] !== view.getInt32(start, true)) return false;
      if (entries[at + 1] !== view.getInt32(start + 4, true)) return false;
      if (entries[at + 2] !== lowWord(view, start + 8, length - 8)) return false;
      if (entries[at + 3] !== highWord(view, start + 8, length - 8)) return false;
    }
    const count = meta >> COUNT_SHIFT;
    ids.push(entries[at + 5]!);
    if (count > 1) ids.push(entries[at + 6]!);
    if (count > 2) ids.push(entries[at + 7]!);
    return true;
  }

  /** Keeps `ids[from …]` as the ids of a piece of at most {@link MAX_CACHED_BYTES} bytes. */
  keep(
    ids: readonly TokenId[],
    from: number,
    view: DataView,
    start: number,
    end: number,
    hash: number,
  ): void {
    const count = ids.length - from;
    if (count > MAX_IDS) return;
    const entries = this.#entries;
    const at = entryOf(hash);
    const length = end - start;
    entries[at] = lowWord(view, start, Math.min(length, 8));
    entries[at + 1] = highWord(view, start, Math.min(length, 8));
    entries[at + 2] = lowWord(view, start + 8, Math.max(length - 8, 0));
    entries[at + 3] = highWord(view, start + 8, Math.max(length - 8, 0));
    entries[at + 4] = length | (count << COUNT_SHIFT);
    for (let i = 0; i < count; i++) entries[at + 5 + i] = ids[from + i]!;
  }
}

function entryOf(hash: number): number {
  return (hash >>> (32 - ENTRY_BITS)) * WORDS;
}
