/**
 * An append-only log of events and their times. Texts are kept as UTF-8 in typed arrays, which the garbage collector does
 * not copy. Of most events only the part that differs from the one before is kept, as text or as the position of its read.
 */
import { type TokenId, tokenText } from "../../tokenizer/index.ts";
import { type EventForm, learnForm, LONGEST_LEARNED } from "./event-form.ts";
import { NumberLog } from "./number-log.ts";
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

/** Reads of ids that are kept elsewhere. */
export interface ReadSource {
  /** @param from position of the first one @param skip reads that are left out from there on */
  plainReads(from: number, skip: number, count: number): Iterable<PlainRead>;
}

export interface PlainRead {
  /** Milliseconds since the request was accepted. */
  readonly ms: number;
  readonly ids: readonly TokenId[];
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
/** Added to a number of events, instead of a length. They have the texts of reads that are kept elsewhere, and the times of these. */
const RUN = 0x40_00_00_00;
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

interface UsedSource {
  readonly source: ReadSource;
  /** Index of the first event that may be one of its reads. */
  readonly from: number;
}

/** The position of an event, and the state that reading it needs. */
interface Place {
  /** Index of the event, and of its pair's first number. */
  readonly event: number;
  readonly pair: number;
  /** Index of its chunk, and offset in the chunk. */
  readonly chunk: number;
  readonly at: number;
  /** How many long texts come before it, and how many variable parts since its form was set. */
  readonly long: number;
  readonly parts: number;
  /** Index of the current form. */
  readonly form: number;
}

const START: Place = { event: 0, pair: 0, chunk: 0, at: 0, long: 0, parts: 0, form: -1 };
/** Places are kept after so many events, so that following a running turn does not start from the beginning each time. */
const PLACE_EVERY = 4096;

export class TextLog {
  readonly #take: (bytes: number) => boolean;
  readonly #allocate: (size: number) => TextBytes;
  #form: EventForm | undefined;
  /** The time of each event and the length of its text in bytes. Of runs, the position of the first read and {@link RUN}. */
  readonly #index: NumberLog;
  #length = 0;
  readonly #sources: UsedSource[] = [];
  readonly #long: string[] = [];
  readonly #forms: UsedForm[] = [];
  /** The used parts of all chunks but the last. No text spans two chunks. */
  readonly #full: Uint8Array[] = [];
  #chunk = NO_BYTES;
  /** Bytes that are used of the last chunk. */
  #at = 0;
  /** Variable parts since the current form was set. */
  #parts = 0;
  readonly #places: Place[] = [];
  #nextPlace = PLACE_EVERY;
  /** Length of the last text if it is a whole event that a form can be learned from, otherwise 0. */
  #wholeBytes = 0;
  #tries = 0;
  #isFull = false;

  constructor({ take, allocate = allocateBytes }: TextLogOptions) {
    this.#take = take;
    this.#allocate = allocate;
    this.#index = new NumberLog(take);
  }

  get length(): number {
    return this.#length;
  }

  /** Appends an event. Returns false if there is no room for it; there is none for later ones either. */
  add(text: string, ms: number): boolean {
    if (this.#isFull) return false;
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
    this.#forms.push({ form, from: this.#length });
    return true;
  }

  /** Appends events of the current form whose variable texts are those of reads, as JSON. Returns false if there is no room. */
  addRun(source: ReadSource, from: number, count: number): boolean {
    if (this.#isFull) return false;
    this.#keepPlaceIfDue();
    if (this.#sources.at(-1)?.source !== source) {
      this.#sources.push({ source, from: this.#length });
    }
    this.#isFull = !(this.#index.add(from) && this.#index.add(RUN + count));
    if (this.#isFull) return false;
    this.#form?.skip(count);
    this.#length += count;
    this.#parts += count;
    this.#wholeBytes = 0;
    return true;
  }

  /** The events from an index on, in order. */
  *texts(from = 0): Generator<TimedText> {
    const place = this.#places.findLast(({ event }) => event <= from) ?? START;
    const chunks = [...this.#full, this.#chunk.bytes.subarray(0, this.#at)]
      .slice(place.chunk)
      .values();
    let chunk = chunks.next().value ?? NO_BYTES.bytes;
    let { at, long, form: used, parts: ofForm, event: index } = place;
    for (const [first, size] of this.#index.pairs(place.pair)) {
      while ((this.#forms[used + 1]?.from ?? Infinity) <= index) {
        used += 1;
        ofForm = 0;
      }
      const form = this.#forms[used]?.form;
      if (size >= RUN && size < IN_FORM) {
        const skipped = Math.min(size - RUN, Math.max(0, from - index));
        const source = this.#sources.findLast((each) => each.from <= index)?.source;
        let part = ofForm + skipped;
        for (const { ms, ids } of source?.plainReads(first, skipped, size - RUN - skipped) ?? []) {
          const text = ids.map((id) => tokenText(id) ?? "").join("");
          yield { ms, text: toEvent(form, JSON.stringify(text), part++) };
        }
        ofForm += size - RUN;
        index += size - RUN;
        continue;
      }
      const isWanted = index++ >= from;
      const ms = fromTenths(first);
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
      yield { ms, text: isPart ? toEvent(form, text, before) : text };
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

  /** Keeps the place of the next event if it is far enough from the last one. */
  #keepPlaceIfDue(): void {
    if (this.#length < this.#nextPlace) return;
    this.#nextPlace = this.#length + PLACE_EVERY;
    this.#places.push({
      event: this.#length,
      pair: this.#index.length,
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
    this.#keepPlaceIfDue();
    if (!this.#index.add(tenths) || !this.#index.add(size)) {
      this.#isFull = true;
      return false;
    }
    this.#length += 1;
    this.#at += length;
    if (size >= IN_FORM && size !== LONG) this.#parts += 1;
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

function toEvent(form: EventForm | undefined, text: string, index: number): string {
  return form === undefined ? text : form.toEvent(text, index);
}

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

const NO_BYTES = allocateBytes(0);

function allocateBytes(size: number): TextBytes {
  const bytes = new Uint8Array(size);
  return { bytes, write: (text, at) => encoder.encodeInto(text, bytes.subarray(at)).written };
}
