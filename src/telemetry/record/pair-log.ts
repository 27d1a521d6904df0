/**
 * An append-only list of pairs of numbers, in typed arrays. The garbage collector would copy objects twice before it
 * leaves them alone.
 */

/** Sizes of chunks, in pairs. */
const FIRST_CHUNK = 32;
const LARGEST_CHUNK = 4096;
const PAIR_BYTES = 8;

export class PairLog {
  readonly #take: (bytes: number) => boolean;
  readonly #full: Uint32Array[] = [];
  #chunk = new Uint32Array(0);
  #fullPairs = 0;
  /** Numbers that are used of the last chunk. */
  #at = 0;
  #isFull = false;

  /** @param take reserves bytes. Once it returns false, nothing more is appended. */
  constructor(take: (bytes: number) => boolean) {
    this.#take = take;
  }

  /** Appends two unsigned 32-bit integers. Returns false if there is no room. */
  add(first: number, second: number): boolean {
    if (this.#at === this.#chunk.length && !this.#grow()) return false;
    this.#chunk[this.#at] = first;
    this.#chunk[this.#at + 1] = second;
    this.#at += 2;
    return true;
  }

  /** Appends pairs that follow each other in a list, as far as there is room. Returns how many. */
  addAll(numbers: Uint32Array, pairs: number): number {
    let added = 0;
    while (added < pairs) {
      if (this.#at === this.#chunk.length && !this.#grow()) return added;
      const chunk = this.#chunk;
      const to = Math.min(chunk.length, this.#at + (pairs - added) * 2);
      let from = added * 2;
      for (let at = this.#at; at < to; at++) chunk[at] = numbers[from++] ?? 0;
      added = from >> 1;
      this.#at = to;
    }
    return added;
  }

  get length(): number {
    return this.#fullPairs + (this.#at >> 1);
  }

  /** The pairs from an index on, in order. */
  *pairs(from = 0): Generator<readonly [first: number, second: number]> {
    let skip = from * 2;
    for (const chunk of this.#full) {
      if (skip < chunk.length) yield* pairsOf(chunk, skip, chunk.length);
      skip = Math.max(0, skip - chunk.length);
    }
    yield* pairsOf(this.#chunk, skip, this.#at);
  }

  #grow(): boolean {
    const pairs = Math.min(LARGEST_CHUNK, Math.max(FIRST_CHUNK, this.#chunk.length));
    this.#isFull ||= !this.#take(pairs * PAIR_BYTES);
    if (this.#isFull) return false;
    if (this.#at > 0) this.#full.push(this.#chunk);
    this.#fullPairs += this.#at / 2;
    this.#chunk = new Uint32Array(pairs * 2);
    this.#at = 0;
    return true;
  }
}

function* pairsOf(
  chunk: Uint32Array,
  from: number,
  to: number,
): Generator<readonly [number, number]> {
  for (let at = from; at < to; at += 2) yield [chunk[at] ?? 0, chunk[at + 1] ?? 0];
}
