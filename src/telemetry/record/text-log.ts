/**
 * Events with their times, as bytes outside the garbage collector's heap: they are joined from several strings, and kept as
 * such the collector would copy all of them. Of most, only what differs from the one before is kept.
 */
import { type EventForm, learnForm, LONGEST_LEARNED } from "./event-form.ts";
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
/** Added to a length: what differs from the event before. */
const IN_FORM = 0x80_00_00_00;
/** In characters. */
const LONGEST = LARGEST_CHUNK / 8;
/** Estimated bytes of a form, without its characters. */
const FORM_BYTES = 256;
/** So many times in succession a form is looked for at each event; then ever more rarely, where there seems to be none. */
const FIRST_TRIES = 4;
const FIRST_NOT_ASCII = 0x80;
/** In characters: so short a text is written faster here than by the runtime. */
const LONGEST_LOOP = 64;

interface UsedForm {
  readonly form: EventForm;
  /** Index of the first event it may be of. */
  readonly from: number;
}

/** Where a text is. */
interface Place {
  /** Index of its chunk, and of its first byte in it. */
  readonly chunk: number;
  readonly at: number;
  /** Numbers of texts before it: of long ones, and of parts since the form that is used. */
  readonly long: number;
  readonly parts: number;
  /** Index of the form that is used. */
  readonly form: number;
}

const START: Place = { chunk: 0, at: 0, long: 0, parts: 0, form: -1 };
/** The place of one in so many texts is remembered: who follows a running turn does not read all of it again each time. */
const PLACE_EVERY = 4096;

export class TextLog {
  readonly #take: (bytes: number) => boolean;
  readonly #allocate: (size: number) => TextBytes;
  #form: EventForm | undefined;
  /** The time of a text, and its length in bytes. */
  readonly #index: PairLog;
  readonly #long: string[] = [];
  readonly #forms: UsedForm[] = [];
  /** Chunks before the last one, as far as they are used. A text is never in two. */
  readonly #full: Uint8Array[] = [];
  #chunk = NO_BYTES;
  /** Bytes in the last chunk. */
  #at = 0;
  /** Texts of which only a part is kept, since the last form was learned. */
  #parts = 0;
  /** Of every text whose index is a multiple of {@link PLACE_EVERY}, except the first. */
  readonly #places: Place[] = [];
  /** Bytes of the last text, if it is a whole one that a form could be learned from. */
  #wholeBytes = 0;
  #tries = 0;
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
    const { length: index } = this.#index;
    if (index > 0 && index % PLACE_EVERY === 0) this.#keepPlace();
    const form = this.#form;
    const length = form === undefined ? -1 : form.match(text);
    if (form !== undefined && length >= 0) return this.#addPart(text, form.from, length, ms);
    return text.length > LONGEST ? this.#addLong(text, ms) : this.#addWhole(text, ms);
  }

  /** What is known of events now: of one that has this form only the text need be added. */
  get form(): EventForm | undefined {
    return this.#isFull ? undefined : this.#form;
  }

  /** Of this form are the next events. False: there is no room for it. */
  useForm(form: EventForm): boolean {
    this.#isFull ||= !this.#take(FORM_BYTES + form.size * 2);
    if (this.#isFull) return false;
    this.#tries = 0;
    this.#form = form;
    this.#parts = 0;
    this.#wholeBytes = 0;
    this.#forms.push({ form, from: this.#index.length });
    return true;
  }

  /** The text of an event of the form that is used: UTF-16 from `start` to `end`. False: there is no room. */
  addPart(characters: Uint16Array, start: number, end: number, ms: number): boolean {
    if (this.#isFull) return false;
    const length = end - start;
    const { length: index } = this.#index;
    if (index > 0 && index % PLACE_EVERY === 0) this.#keepPlace();
    const most = length * MAX_BYTES_PER_CHARACTER;
    if (this.#at + most > this.#chunk.bytes.length && !this.#grow(most)) {
      this.#isFull = true;
      return false;
    }
    const { bytes } = this.#chunk;
    let at = this.#at;
    for (let each = start; each < end; each++) {
      const code = characters[each] ?? 0;
      if (code >= FIRST_NOT_ASCII) break;
      bytes[at++] = code;
    }
    let written = at - this.#at;
    if (written < length) {
      const text = String.fromCharCode(...characters.subarray(start, end));
      written = this.#chunk.write(text, this.#at);
    }
    return this.#written(written, IN_FORM + written, ms);
  }

  /** Those from an index on, in order. */
  *texts(from = 0): Generator<TimedText> {
    const whole = Math.min(Math.floor(from / PLACE_EVERY), this.#places.length);
    const place = this.#places[whole - 1] ?? START;
    const chunks = [...this.#full, this.#chunk.bytes.subarray(0, this.#at)]
      .slice(place.chunk)
      .values();
    let chunk = chunks.next().value ?? NO_BYTES.bytes;
    let { at, long, form: used, parts: ofForm } = place;
    let index = whole * PLACE_EVERY;
    for (const [tenths, size] of this.#index.pairs(index)) {
      while ((this.#forms[used + 1]?.from ?? Infinity) <= index) {
        used += 1;
        ofForm = 0;
      }
      const isWanted = index++ >= from;
      const ms = fromTenths(tenths);
      if (size === LONG) {
        const text = this.#long[long++] ?? "";
        if (isWanted) yield { ms, text };
        continue;
      }
      const isPart = size >= IN_FORM;
      const length = isPart ? size - IN_FORM : size;
      if (at === chunk.length && length > 0) {
        chunk = chunks.next().value ?? chunk;
        at = 0;
      }
      const bytes = chunk.subarray(at, at + length);
      at += length;
      const before = isPart ? ofForm++ : 0;
      if (!isWanted) continue;
      const text = decoder.decode(bytes);
      const form = isPart ? this.#forms[used]?.form : undefined;
      yield { ms, text: form === undefined ? text : form.toEvent(text, before) };
    }
  }

  /** What differs from the text before: `length` characters from an index on. */
  #addPart(text: string, from: number, length: number, ms: number): boolean {
    const { bytes } = this.#chunk;
    let at = this.#at;
    if (length <= LONGEST_LOOP && at + length <= bytes.length) {
      const end = from + length;
      let index = from;
      for (; index < end; index++) {
        const code = text.charCodeAt(index);
        if (code >= FIRST_NOT_ASCII) break;
        bytes[at++] = code;
      }
      if (index === end) return this.#written(length, IN_FORM + length, ms);
    }
    const written = this.#write(text.slice(from, from + length));
    return written >= 0 && this.#written(written, IN_FORM + written, ms);
  }

  #addWhole(text: string, ms: number): boolean {
    const isLearned = text.length <= LONGEST_LEARNED;
    if (isLearned) this.#learn(text);
    const length = this.#isFull ? -1 : this.#write(text);
    const hasRoom = length >= 0 && this.#written(length, length, ms);
    if (isLearned && hasRoom) this.#wholeBytes = length;
    return hasRoom;
  }

  #addLong(text: string, ms: number): boolean {
    if (!this.#take(text.length * 2)) this.#isFull = true;
    else if (this.#written(0, LONG, ms)) this.#long.push(text);
    return !this.#isFull;
  }

  #keepPlace(): void {
    this.#places.push({
      chunk: this.#full.length,
      at: this.#at,
      long: this.#long.length,
      parts: this.#parts,
      form: this.#forms.length - 1,
    });
  }

  /** The number of bytes; -1: there is no room. */
  #write(text: string): number {
    const most = text.length * MAX_BYTES_PER_CHARACTER;
    if (this.#at + most <= this.#chunk.bytes.length || this.#grow(most)) {
      return this.#chunk.write(text, this.#at);
    }
    this.#isFull = true;
    return -1;
  }

  #written(length: number, size: number, ms: number): boolean {
    this.#wholeBytes = 0;
    this.#isFull = !this.#index.add(toTenths(ms), size);
    if (this.#isFull) return false;
    this.#at += length;
    if (size >= IN_FORM && size !== LONG) this.#parts += 1;
    return true;
  }

  /** Looks for what this text, which is of no known form, has in common with the one before. */
  #learn(text: string): void {
    if (this.#wholeBytes === 0) return;
    this.#tries += 1;
    const isRare = this.#tries > FIRST_TRIES && (this.#tries & (this.#tries - 1)) !== 0;
    if (isRare) return;
    const before = decoder.decode(
      this.#chunk.bytes.subarray(this.#at - this.#wholeBytes, this.#at),
    );
    const form = learnForm(before, text);
    if (form === undefined) return;
    this.useForm(form);
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
