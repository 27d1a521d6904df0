/**
 * Texts with their times, as bytes outside the garbage collector's heap: frames are joined from several strings, and kept
 * as such the collector would copy all of them.
 */
import { PairLog } from "./pair-log.ts";
import { fromTenths, toTenths } from "./tenths.ts";

/** Memory that texts are written into, as UTF-8. */
export interface TextBytes {
  readonly bytes: Uint8Array;
  /** Writes a text from an index on. There is room for three bytes a character. Returns the number of bytes. */
  write(text: string, at: number): number;
}

export interface TextLogOptions {
  /** Whether there is memory for so many bytes. Once there is not, nothing more is appended. */
  readonly take: (bytes: number) => boolean;
  /** Default: written by `TextEncoder`, which every runtime has. */
  readonly allocate?: ((size: number) => TextBytes) | undefined;
}

export interface TimedText {
  /** Milliseconds since the request was accepted. */
  readonly ms: number;
  readonly text: string;
}

/** In bytes. */
const FIRST_CHUNK = 2048;
const LARGEST_CHUNK = 65_536;
const MAX_BYTES_PER_CHARACTER = 3;
/** In place of a length: the text is the next one of those that are kept as they are. */
const LONG = 0xff_ff_ff_ff;
/** In characters. */
const LONGEST = LARGEST_CHUNK / 8;

export class TextLog {
  readonly #take: (bytes: number) => boolean;
  readonly #allocate: (size: number) => TextBytes;
  /** The time of a text, and its length in bytes. */
  readonly #index: PairLog;
  readonly #long: string[] = [];
  /** Chunks before the last one, as far as they are used. A text is never in two. */
  readonly #full: Uint8Array[] = [];
  #chunk = NO_BYTES;
  /** Bytes in the last chunk. */
  #at = 0;
  #isFull = false;

  constructor({ take, allocate = allocateBytes }: TextLogOptions) {
    this.#take = take;
    this.#allocate = allocate;
    this.#index = new PairLog(take);
  }

  get length(): number {
    return this.#index.length;
  }

  /** False: there is no room for it, nor for any later one. */
  add(text: string, ms: number): boolean {
    if (this.#isFull) return false;
    const hasRoom = text.length > LONGEST ? this.#addLong(text, ms) : this.#addShort(text, ms);
    this.#isFull = !hasRoom;
    return hasRoom;
  }

  /** Those from an index on, in order. */
  *texts(from = 0): Generator<TimedText> {
    const chunks = [...this.#full, this.#chunk.bytes.subarray(0, this.#at)].values();
    let chunk = chunks.next().value ?? NO_BYTES.bytes;
    let at = 0;
    let long = 0;
    let index = 0;
    for (const [tenths, length] of this.#index.pairs()) {
      const isWanted = index++ >= from;
      const ms = fromTenths(tenths);
      if (length === LONG) {
        const text = this.#long[long++] ?? "";
        if (isWanted) yield { ms, text };
        continue;
      }
      if (at === chunk.length) {
        chunk = chunks.next().value ?? chunk;
        at = 0;
      }
      const bytes = chunk.subarray(at, at + length);
      at += length;
      if (isWanted) yield { ms, text: decoder.decode(bytes) };
    }
  }

  #addShort(text: string, ms: number): boolean {
    const most = text.length * MAX_BYTES_PER_CHARACTER;
    if (this.#at + most > this.#chunk.bytes.length && !this.#grow(most)) return false;
    const length = this.#chunk.write(text, this.#at);
    if (!this.#index.add(toTenths(ms), length)) return false;
    this.#at += length;
    return true;
  }

  #addLong(text: string, ms: number): boolean {
    const hasRoom = this.#take(text.length * 2) && this.#index.add(toTenths(ms), LONG);
    if (hasRoom) this.#long.push(text);
    return hasRoom;
  }

  /** @param least bytes that must fit. */
  #grow(least: number): boolean {
    let size = Math.max(FIRST_CHUNK, this.#chunk.bytes.length * 2);
    while (size < least) size *= 2;
    size = Math.min(LARGEST_CHUNK, size);
    if (!this.#take(size)) return false;
    if (this.#at > 0) this.#full.push(this.#chunk.bytes.subarray(0, this.#at));
    this.#chunk = this.#allocate(size);
    this.#at = 0;
    return true;
  }
}

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

const NO_BYTES = allocateBytes(0);

function allocateBytes(size: number): TextBytes {
  const bytes = new Uint8Array(size);
  return { bytes, write: (text, at) => encoder.encodeInto(text, bytes.subarray(at)).written };
}
