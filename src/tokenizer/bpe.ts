/**
 * Byte pair encoding of one piece of text: of all neighbours that form a token together, the two
 * whose token has the lowest rank are joined, the leftmost first, until none are left.
 *
 * The rank of each unit with its right neighbour is kept, so that a merge asks for two ranks only.
 * Which is the lowest is found by looking at all of them while they are few, and by a tournament
 * tree when they are many: n·log n whatever the text, where the usual loop is quadratic, so that
 * a megabyte of `a` costs no more than a megabyte of prose costs elsewhere.
 */

import { type CharacterSeams, seamOf } from "./character-seams.ts";
import { hashOf } from "./byte-words.ts";
import { NO_RANK, type Ranks } from "./ranks.ts";
import type { TextBytes } from "./text-bytes.ts";
import type { TokenId } from "./tokenizer.ts";
import { widthOf } from "./utf8.ts";

/** Up to this many units looking at all of them is faster; there is little between 64 and 256. */
const MAX_SCANNED = 96;
/** Pieces up to this many bytes share one set of arrays that is never given back, 80 KB. */
const KEPT_CAPACITY = 4096;

export class PieceMerger {
  readonly #ranks: Ranks;
  readonly #seams: CharacterSeams;
  readonly #byteIds: Int32Array;
  readonly #kept = new Units(KEPT_CAPACITY);

  constructor(ranks: Ranks, seams: CharacterSeams) {
    this.#ranks = ranks;
    this.#seams = seams;
    const view = new DataView(new ArrayBuffer(16));
    this.#byteIds = Int32Array.from({ length: 0x100 }, (_, byte) => {
      view.setUint8(0, byte);
      return ranks.find(view, 0, 1, hashOf(view, 0, 1));
    });
  }

  /** Appends the ids of the piece `text[start … end)`. */
  appendTo(ids: TokenId[], text: TextBytes, start: number, end: number): void {
    const length = end - start;
    const units = length <= KEPT_CAPACITY ? this.#kept : new Units(length);
    const count = this.#split(units, text, start, end);
    this.#rankAll(units, count, text.view);
    if (count <= MAX_SCANNED) this.#mergeByScan(units, count, text.view);
    else this.#mergeByTree(units, count, text.view);
    for (let unit = 0; unit < count; unit = units.next[unit]!) ids.push(units.ids[unit]!);
  }

  /** Cuts the piece into its first units: bytes, or characters where that makes no difference. */
  #split(units: Units, { bytes, view }: TextBytes, start: number, end: number): number {
    const { starts, ids } = units;
    const seams = this.#seams;
    const byteIds = this.#byteIds;
    let count = 0;
    let isOpenBefore = true;
    for (let i = start; i < end;) {
      const width = widthOf(bytes[i]!);
      const charEnd = i + width;
      const isOpenAfter =
        charEnd === end || seams[seamOf(bytes[charEnd - 1]!, bytes[charEnd]!)] === 0;
      if (width > 1 && isOpenBefore && isOpenAfter) {
        const id = this.#ranks.rankOf(view, i, charEnd);
        if (id !== NO_RANK) {
          starts[count] = i;
          ids[count++] = id;
          i = charEnd;
          continue;
        }
      }
      for (; i < charEnd; i++) {
        starts[count] = i;
        ids[count++] = byteIds[bytes[i]!]!;
      }
      isOpenBefore = isOpenAfter;
    }
    starts[count] = end;
    return count;
  }

  #rankAll({ starts, next, previous, ranks }: Units, count: number, view: DataView): void {
    for (let unit = 0; unit < count; unit++) {
      next[unit] = unit + 1;
      previous[unit] = unit - 1;
      ranks[unit] =
        unit + 1 < count ? this.#ranks.rankOf(view, starts[unit]!, starts[unit + 2]!) : NO_RANK;
    }
  }

  #mergeByScan(units: Units, count: number, view: DataView): void {
    const { ranks } = units;
    for (;;) {
      let lowest = NO_RANK;
      let unit = -1;
      for (let i = 0; i < count; i++) {
        if (ranks[i]! < lowest) {
          lowest = ranks[i]!;
          unit = i;
        }
      }
      if (unit < 0) return;
      this.#join(units, unit, count, view);
    }
  }

  #mergeByTree(units: Units, count: number, view: DataView): void {
    const { ranks, next, previous } = units;
    const tree = new TournamentTree(ranks, count);
    for (let unit = tree.leftmostLowest(); unit >= 0; unit = tree.leftmostLowest()) {
      const joined = next[unit]!;
      const before = previous[unit]!;
      this.#join(units, unit, count, view);
      tree.set(joined, NO_RANK);
      tree.set(unit, ranks[unit]!);
      if (before >= 0) tree.set(before, ranks[before]!);
    }
  }

  /** Joins a unit with the next one. */
  #join(units: Units, unit: number, count: number, view: DataView): void {
    const { starts, ids, ranks, next, previous } = units;
    const joined = next[unit]!;
    const after = next[joined]!;
    const before = previous[unit]!;
    ids[unit] = ranks[unit]!;
    next[unit] = after;
    ranks[joined] = NO_RANK;
    previous[after] = unit;
    ranks[unit] =
      after < count ? this.#ranks.rankOf(view, starts[unit]!, starts[next[after]!]!) : NO_RANK;
    if (before >= 0) ranks[before] = this.#ranks.rankOf(view, starts[before]!, starts[after]!);
  }
}

/** The units of a piece, a doubly linked list: a unit is called by its first place in it. */
class Units {
  /** Where in the text a unit begins; one entry more for the end of the piece. */
  readonly starts: Int32Array;
  readonly ids: Int32Array;
  /** The rank of a unit joined with the next one. */
  readonly ranks: Int32Array;
  readonly next: Int32Array;
  readonly previous: Int32Array;

  constructor(capacity: number) {
    this.starts = new Int32Array(capacity + 1);
    this.ids = new Int32Array(capacity);
    this.ranks = new Int32Array(capacity);
    this.next = new Int32Array(capacity);
    this.previous = new Int32Array(capacity + 1);
  }
}

/** Minimum of a list in which single values change: each inner node is the lower of its children. */
class TournamentTree {
  readonly #leaves: number;
  readonly #nodes: Int32Array;

  constructor(values: Int32Array, count: number) {
    const leaves = 2 ** Math.ceil(Math.log2(count));
    const nodes = new Int32Array(2 * leaves).fill(NO_RANK);
    nodes.set(values.subarray(0, count), leaves);
    for (let node = leaves - 1; node > 0; node--) {
      nodes[node] = Math.min(nodes[2 * node]!, nodes[2 * node + 1]!);
    }
    this.#leaves = leaves;
    this.#nodes = nodes;
  }

  set(index: number, value: number): void {
    const nodes = this.#nodes;
    let node = this.#leaves + index;
    nodes[node] = value;
    while (node > 1) {
      node >>= 1;
      const lower = Math.min(nodes[2 * node]!, nodes[2 * node + 1]!);
      if (nodes[node] === lower) return;
      nodes[node] = lower;
    }
  }

  /** The first index with the lowest value; -1 if no value is below {@link NO_RANK}. */
  leftmostLowest(): number {
    const nodes = this.#nodes;
    const lowest = nodes[1]!;
    if (lowest === NO_RANK) return -1;
    let node = 1;
    while (node < this.#leaves) {
      node *= 2;
      if (nodes[node] !== lowest) node++;
    }
    return node - this.#leaves;
  }
}
