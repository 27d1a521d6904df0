/**
 * An append-only list of unsigned 32-bit integers, in typed arrays. The garbage collector would copy objects twice before it
 * leaves them alone.
 */

/** Sizes of chunks, in numbers. Even, so that no pair spans two of them. */
const FIRST_CHUNK = 64;
const LARGEST_CHUNK = 8192;
const NUMBER_BYTES = 4;

export class NumberLog {
  readonly #take: (bytes: number) => boolean;
  readonly #full: Uint32Array[] = [];
  #chunk = new Uint32Array(0);
  /** Numbers in the full chunks. */
  #before = 0;
  /** Numbers that are used of the last chunk. */
  #at = 0;
  #isFull = false;

  /** @param take reserves bytes. Once it returns false, nothing more is appended. */
  constructor(take: (bytes: number) => boolean) {
    this.#take = take;
  }

  /** Appends a number. Returns false if there is no room. */
  add(number: number): boolean {
    if (this.#at === this.#chunk.length && !this.#grow(1)) return false;
    this.#chunk[this.#at++] = number;
    return true;
  }

  /** Appends numbers as far as there is room. Returns how many. */
  addAll(numbers: Uint32Array): number {
    let next = 0;
    while (next < numbers.length) {
      if (this.#at === this.#chunk.length && !this.#grow(numbers.length - next)) break;
      const part = numbers.subarray(next, next + this.#chunk.length - this.#at);
      this.#chunk.set(part, this.#at);
      this.#at += part.length;
      next += part.length;
    }
    return next;
  }

  get length(): number {
    return this.#before + this.#at;
  }

  /** The numbers from an index on, in order. */
  *numbers(from = 0): Generator<number> {
    for (const { chunk, at, end } of this.#chunks(from)) {
      for (let next = at; next < end; next++) yield chunk[next] ?? 0;
    }
  }

  /** Numbers two by two, for a list with an even length, from an even index on. */
  *pairs(from = 0): Generator<readonly [first: number, second: number]> {
    for (const { chunk, at, end } of this.#chunks(from)) {
      for (let next = at; next < end; next += 2) yield [chunk[next] ?? 0, chunk[next + 1] ?? 0];
    }
  }

  *#chunks(from: number): Generator<{ chunk: Uint32Array; at: number; end: number }> {
    let skip = from;
    for (const chunk of this.#full) {
      if (skip < chunk.length) yield { chunk, at: skip, end: chunk.length };
      skip = Math.max(0, skip - chunk.length);
    }
    yield { chunk: this.#chunk, at: skip, end: this.#at };
  }

  /** @param wanted numbers that are about to be added */
  #grow(wanted: number): boolean {
    let size = Math.max(FIRST_CHUNK, this.#chunk.length * 2);
    while (size < wanted) size *= 2;
    size = Math.min(LARGEST_CHUNK, size);
    this.#isFull ||= !this.#take(size * NUMBER_BYTES);
    if (this.#isFull) return false;
    if (this.#at > 0) this.#full.push(this.#chunk);
    this.#before += this.#at;
    this.#chunk = new Uint32Array(size);
    this.#at = 0;
    return true;
  }
}
