/**
 * An append-only log of events and their times. Texts are kept as UTF-8 in typed arrays, which the garbage collector does
 * not copy. Of most events only the part that differs from the one before is kept, as text or as the id of its token.
 */
import { tokenText } from "../../tokenizer/index.ts";
import { type EventForm, learnForm, LONGEST_LEARNED } from "./event-form.ts";
import type { JournalEntries } from "./journal-entries.ts";
import { PairLog } from "./pair-log.ts";
import { fromTenths, toTenths } from "./tenths.ts";

/** Memory that texts are written to as UTF-8. */
export interface TextBytes {
  readonly bytes: Uint8Array;
  /** Writes a text at an offset and returns the number of bytes. The caller ensures room for three bytes per character. */
  write(text: string, at: number): number;
}

export interface TextLogOptions {
  /** Reserves bytes. Once it returns false, nothing more is appended. */
  readonly take: (bytes: number) => boolean;
  /** Default: memory that `TextEncoder` writes to, which every runtime has. */
  readonly allocate?: ((size: number) => TextBytes) | undefined;
}

export interface TimedText {
  /** Milliseconds since the request was accepted. */
  readonly ms: number;
  readonly text: string;
}

/** Sizes of chunks, in bytes. */
const FIRST_CHUNK = 2048;
const LARGEST_CHUNK = 65_536;
const MAX_BYTES_PER_CHARACTER = 3;
/** Instead of a length: the text is the next element of `#long`. */
const LONG = 0xff_ff_ff_ff;
/** Added to the length of a text that is the variable part of an event. */
const IN_FORM = 0x80_00_00_00;
/** Added to an id, instead of a length: the variable part of an event is the token's text as JSON. */
const OF_TOKEN = 0x40_00_00_00;
/** In characters. Longer texts are kept as strings. */
const LONGEST = LARGEST_CHUNK / 8;
/** Estimated bytes of a form, without its characters. */
const FORM_BYTES = 256;
/** The number of events from which a form is learned if possible. After these only the 8th, 16th, 32nd … is tried. */
const FIRST_TRIES = 4;
const FIRST_NOT_ASCII = 0x80;
/** In characters. A loop writes shorter texts faster than the runtime's encoder. */
const LONGEST_LOOP = 64;

interface UsedForm {
  readonly form: EventForm;
  /** Index of the first event that may have it. */
  readonly from: number;
}

/** The position of a text, and the state that reading it needs. */
interface Place {
  /** Index of its chunk, and offset in the chunk. */
  readonly chunk: number;
  readonly at: number;
  /** How many long texts come before it, and how many variable parts since its form was set. */
  readonly long: number;
  readonly parts: number;
  /** Index of the current form. */
  readonly form: number;
}

const START: Place = { chunk: 0, at: 0, long: 0, parts: 0, form: -1 };
/** Places are kept at this interval, so that following a running turn does not start from the beginning each time. */
const PLACE_EVERY = 4096;

export class TextLog {
  readonly #take: (bytes: number) => boolean;
  readonly #allocate: (size: number) => TextBytes;
  #form: EventForm | undefined;
  /** The time of each text, and its length in bytes. */
  readonly #index: PairLog;
  readonly #long: string[] = [];
  readonly #forms: UsedForm[] = [];
  /** The used parts of all chunks but the last. No text spans two chunks. */
  readonly #full: Uint8Array[] = [];
  #chunk = NO_BYTES;
  /** Bytes that are used of the last chunk. */
  #at = 0;
  /** Variable parts since the current form was set. */
  #parts = 0;
  /** The places of texts whose index is a multiple of {@link PLACE_EVERY}, without index 0. */
  readonly #places: Place[] = [];
  /** Length of the last text if it is a whole event that a form can be learned from, otherwise 0. */
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

  /** Appends an event. Returns false if there is no room for it; there is none for later ones either. */
  add(text: string, ms: number): boolean {
    if (this.#isFull) return false;
    const { length: index } = this.#index;
    if (index > 0 && index % PLACE_EVERY === 0) this.#keepPlace();
    const form = this.#form;
    const length = form === undefined ? -1 : form.match(text);
    if (form !== undefined && length >= 0) return this.#addPart(text, form.from, length, ms);
    return text.length > LONGEST ? this.#addLong(text, ms) : this.#addWhole(text, ms);
  }

  /** The current form: of events that have it, only the variable text need be added. */
  get form(): EventForm | undefined {
    return this.#isFull ? undefined : this.#form;
  }

  /** Sets the form of the next events. Returns false if there is no room for it. */
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

  /**
   * Appends events of the current form by these entries' texts, whose characters begin at `character`. Returns for how many there
   * is no room.
   */
  addEntries(entries: JournalEntries, first: number, end: number, character: number): number {
    const { pairs, characters } = entries;
    let left = 0;
    let at = character;
    let tokens = 0;
    for (let entry = first; entry < end; entry++) {
      if (entries.hasTextOfId(entry)) {
        pairs[tokens * 2] = entries.tenths(entry);
        pairs[tokens * 2 + 1] = OF_TOKEN + entries.id(entry);
        tokens += 1;
        continue;
      }
      if (!entries.hasText(entry)) continue;
      left += this.#addTokens(pairs, tokens);
      tokens = 0;
      const start = at;
      at += entries.textLength(entry);
      if (!this.#addCharacters(characters, start, at, entries.tenths(entry))) left += 1;
    }
    return left + this.#addTokens(pairs, tokens);
  }

  /** Appends events whose variable texts are those of tokens, as JSON. Returns for how many there is no room. */
  #addTokens(pairs: Uint32Array, count: number): number {
    if (count === 0) return 0;
    if (this.#isFull) return count;
    const { length: index } = this.#index;
    const place = Math.ceil(Math.max(1, index) / PLACE_EVERY) * PLACE_EVERY;
    const before = Math.min(count, place - index);
    const added = this.#index.addAll(pairs, before);
    this.#parts += added;
    this.#wholeBytes = 0;
    this.#isFull = added < before;
    if (this.#isFull || before === count) return count - added;
    this.#keepPlace();
    // A row has fewer entries than there are between two places.
    const rest = this.#index.addAll(pairs.subarray(before * 2), count - before);
    this.#parts += rest;
    this.#isFull = rest < count - before;
    return count - before - rest;
  }

  /** Appends an event of the current form by its variable text: UTF-16 from `start` to `end`, and its time in tenths. Returns false if there is no room. */
  #addCharacters(characters: Uint16Array, start: number, end: number, tenths: number): boolean {
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
    return this.#written(written, IN_FORM + written, tenths);
  }

  /** The events from an index on, in order. */
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
      const isPart = size >= OF_TOKEN;
      const isOfToken = isPart && size < IN_FORM;
      const lengthInForm = isOfToken ? 0 : size - IN_FORM;
      const length = isPart ? lengthInForm : size;
      if (at === chunk.length && length > 0) {
        chunk = chunks.next().value ?? chunk;
        at = 0;
      }
      const bytes = chunk.subarray(at, at + length);
      at += length;
      const before = isPart ? ofForm++ : 0;
      if (!isWanted) continue;
      const text = isOfToken ? JSON.stringify(tokenText(size - OF_TOKEN)) : decoder.decode(bytes);
      const form = isPart ? this.#forms[used]?.form : undefined;
      yield { ms, text: form === undefined ? text : form.toEvent(text, before) };
    }
  }

  /** Appends the variable part of an event: `length` characters from `from` on. */
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
      if (index === end) return this.#written(length, IN_FORM + length, toTenths(ms));
    }
    const written = this.#write(text.slice(from, from + length));
    return written >= 0 && this.#written(written, IN_FORM + written, toTenths(ms));
  }

  #addWhole(text: string, ms: number): boolean {
    const isLearned = text.length <= LONGEST_LEARNED;
    if (isLearned) this.#learn(text);
    const length = this.#isFull ? -1 : this.#write(text);
    const hasRoom = length >= 0 && this.#written(length, length, toTenths(ms));
    if (isLearned && hasRoom) this.#wholeBytes = length;
    return hasRoom;
  }

  #addLong(text: string, ms: number): boolean {
    if (!this.#take(text.length * 2)) this.#isFull = true;
    else if (this.#written(0, LONG, toTenths(ms))) this.#long.push(text);
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

  /** Returns the number of bytes, or -1 if there is no room. */
  #write(text: string): number {
    const most = text.length * MAX_BYTES_PER_CHARACTER;
    if (this.#at + most <= this.#chunk.bytes.length || this.#grow(most)) {
      return this.#chunk.write(text, this.#at);
    }
    this.#isFull = true;
    return -1;
  }

  #written(length: number, size: number, tenths: number): boolean {
    this.#wholeBytes = 0;
    if (!this.#index.add(tenths, size)) {
      this.#isFull = true;
      return false;
    }
    this.#at += length;
    if (size >= OF_TOKEN && size !== LONG) this.#parts += 1;
    return true;
  }

  /** Learns a form from the last two events, if they have enough in common. */
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

  /** Starts a new chunk. @param least bytes that it must have room for */
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
