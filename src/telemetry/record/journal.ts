/**
 * What all turns have read and written lately, until it is handed to their records. With a token per read, each object that
 * belongs to one turn has left the processor's cache before its next token comes: recorded there, a token costs several
 * times what it does here, where all turns append to the same arrays. Handed on are thousands at once, each turn's together.
 */
import type { EngineTokens } from "../../engines/engine.ts";
import type { TokenId } from "../../tokenizer/index.ts";
import type { EventForm } from "./event-form.ts";
import type { ExchangeClock } from "./exchange-clock.ts";

/** Receives its own entries. */
export interface JournalSink {
  /** Used by the journal alone. At first {@link NO_SLOT}. */
  slot: number;
  /** @param first its first entry; `next` of each leads to the following one. */
  takeEntries(entries: JournalEntries, first: number): void;
}

/** Who reads is told by {@link Journal.read} and {@link Journal.parsed} only. */
export interface TextSink extends JournalSink {
  /** The form of the events that come. Undefined: none is known. */
  readonly form: EventForm | undefined;
  /** Of this form are the next events. False: there is no room for it. */
  takeForm(form: EventForm): boolean;
  /** An event that is not of this form. @param at by the clock. */
  takeText(text: string, at: number): void;
}

export const NO_SLOT = -1;
/** After the last entry of a sink. */
export const END = 0xff_ff_ff_ff;

/** An id each, or the text in an event of the sink's form. */
const CAPACITY = 8192;
/** What is longer is handed on at once. */
const LONGEST_READ = 64;
/** In characters. */
const LONGEST_TEXT = 64;
/** Characters of all texts. */
const TEXT_CAPACITY = 65_536;

/** Of an id: its turn has parsed it. */
const PARSED = 1;
/** Of an id: it belongs to the read of the one before it. */
const SAME_READ = 2;
/**
 * Numbers of 32 bits in an entry: the slot, later the next entry; an id or the length of a text; marks of an id or where a
 * text begins. Then, after one that is not used, the time in 64 bits.
 */
const SIZE = 6;
/** Numbers of 64 bits in an entry, and before its time. */
const LONG_SIZE = SIZE / 2;
const TIME = 2;

/** Numbers only: the garbage collector has nothing to do with them. */
export class JournalEntries {
  /** {@link SIZE} of each: an entry is in one line of the processor's cache. */
  readonly numbers = new Uint32Array(CAPACITY * SIZE);
  readonly times = new Float64Array(this.numbers.buffer);
  /** Of all texts, as UTF-16. */
  readonly characters = new Uint16Array(TEXT_CAPACITY);

  /** The next entry of the same sink, or {@link END}. */
  next(entry: number): number {
    return this.numbers[entry * SIZE] ?? END;
  }

  /** By the clock. */
  time(entry: number): number {
    return this.times[entry * LONG_SIZE + TIME] ?? 0;
  }

  /** An id, or the length of a text. */
  value(entry: number): number {
    return this.numbers[entry * SIZE + 1] ?? 0;
  }

  /** Where a text begins in `characters`. */
  start(entry: number): number {
    return this.numbers[entry * SIZE + 2] ?? 0;
  }

  /** An id does not belong to the read of the one before it. */
  isFirstOfRead(entry: number): boolean {
    return (this.start(entry) & SAME_READ) === 0;
  }

  /** The turn has parsed the id. */
  isParsed(entry: number): boolean {
    return (this.start(entry) & PARSED) !== 0;
  }
}

/** Takes half a megabyte, however many turns there are. */
export class Journal {
  readonly #entries = new JournalEntries();
  readonly #numbers = this.#entries.numbers;
  readonly #times = this.#entries.times;
  readonly #texts = this.#entries.characters;
  readonly #heads = new Uint32Array(CAPACITY);
  readonly #sinks: JournalSink[] = [];
  readonly #clock: () => number;
  /** Slots count on for ever. Those from here on have entries. */
  #firstSlot = 0;
  #length = 0;
  #characters = 0;
  /** Who has read last, and from which entry on it has not been parsed. */
  #reader: JournalSink | undefined;
  #unparsed = 0;
  /** What is written for a read is written at once: both have one time, because asking for it is not cheap. */
  #lastRead: ExchangeClock | undefined;
  #lastTime = 0;
  /** Whose next event is made of this form, and of the text behind the last character. */
  #maker: TextSink | undefined;
  #madeText = 0;
  #madeEvent = 0;

  /** @param clock milliseconds; only differences are used. */
  constructor(clock: () => number) {
    this.#clock = clock;
  }

  /** False: nothing has been noted, because only plain ids are kept here. */
  read(sink: JournalSink, clock: ExchangeClock, tokens: EngineTokens): boolean {
    if (tokens.type !== "ids" || tokens.logprobs !== undefined) return false;
    const { ids } = tokens;
    const count = ids.length;
    if (tokens.cachedTokens !== undefined || count > LONGEST_READ || !arePlain(ids)) return false;
    if (this.#length + count > CAPACITY) this.handOn();
    const time = this.readTime(clock);
    const first = this.#length;
    const slot = this.#slotOf(sink);
    for (let index = 0; index < count; index++) {
      this.#add(slot, time, ids[index] ?? 0, index === 0 ? 0 : SAME_READ);
    }
    this.#reader = sink;
    this.#unparsed = first;
    return true;
  }

  /** The turn has parsed so many of the ids that were read last. False: they are no longer here. */
  parsed(sink: JournalSink, count: number): boolean {
    const to = this.#unparsed + count;
    if (this.#reader !== sink || to > this.#length) return false;
    const numbers = this.#numbers;
    for (let at = this.#unparsed * SIZE + 2; at < to * SIZE; at += SIZE) {
      numbers[at] = (numbers[at] ?? 0) | PARSED;
    }
    this.#unparsed = to;
    return true;
  }

  /**
   * The next event of this sink has this form and this text, or contains what has. Then nothing of it need be compared: it is
   * the same as long as it has the same length.
   */
  made(sink: TextSink, form: EventForm, text: string): void {
    this.#maker = undefined;
    const { length } = text;
    if (length > LONGEST_TEXT) return;
    if (this.#length === CAPACITY || this.#characters + length > TEXT_CAPACITY) this.handOn();
    if (sink.form !== form) {
      this.handOn();
      if (!sink.takeForm(form)) return;
    }
    this.#write(text, 0, length);
    this.#maker = sink;
    this.#madeText = length;
    this.#madeEvent = form.lengthOf(length);
  }

  /** Notes what is written. */
  text(sink: TextSink, clock: ExchangeClock, event: string): void {
    const time = this.#writtenTime(clock);
    this.#reader = undefined;
    if (this.#maker === sink) {
      this.#maker = undefined;
      if (event.length === this.#madeEvent) return this.#addText(sink, this.#madeText, time);
    }
    const { form } = sink;
    const length = form === undefined ? -1 : form.match(event);
    if (form !== undefined && length >= 0) {
      const isShort = length <= LONGEST_TEXT;
      const hasRoom = this.#length < CAPACITY && this.#characters + length <= TEXT_CAPACITY;
      if (isShort && hasRoom) {
        this.#write(event, form.from, length);
        return this.#addText(sink, length, time);
      }
      form.unmatch();
    }
    this.handOn();
    sink.takeText(event, time);
  }

  #write(text: string, from: number, length: number): void {
    const texts = this.#texts;
    const at = this.#characters;
    for (let index = 0; index < length; index++) texts[at + index] = text.charCodeAt(from + index);
  }

  #addText(sink: TextSink, length: number, time: number): void {
    this.#add(this.#slotOf(sink), time, length, this.#characters);
    this.#characters += length;
  }

  #add(slot: number, time: number, value: number, start: number): void {
    const numbers = this.#numbers;
    const entry = this.#length++;
    const at = entry * SIZE;
    numbers[at] = slot;
    numbers[at + 1] = value;
    numbers[at + 2] = start;
    this.#times[entry * LONG_SIZE + TIME] = time;
  }

  #slotOf(sink: JournalSink): number {
    const slot = sink.slot - this.#firstSlot;
    if (slot >= 0) return slot;
    const added = this.#sinks.push(sink) - 1;
    this.#heads[added] = END;
    sink.slot = this.#firstSlot + added;
    return added;
  }

  /** The time of a read, by the clock. */
  readTime(clock: ExchangeClock): number {
    this.#lastRead = clock;
    return (this.#lastTime = this.#clock());
  }

  /** The time of something that is written, perhaps because of the last read. */
  #writtenTime(clock: ExchangeClock): number {
    if (this.#lastRead !== clock) return this.#clock();
    this.#lastRead = undefined;
    return this.#lastTime;
  }

  /** What this exchange writes next comes later than its last read. */
  pass(clock: ExchangeClock): void {
    if (this.#lastRead === clock) this.#lastRead = undefined;
  }

  /** Hands everything to the records. Before anything else is recorded of a turn, and before somebody looks at one. */
  handOn(): void {
    this.#maker = undefined;
    if (this.#length === 0) return;
    const heads = this.#heads;
    const numbers = this.#numbers;
    for (let entry = this.#length - 1; entry >= 0; entry--) {
      const slot = numbers[entry * SIZE] ?? 0;
      numbers[entry * SIZE] = heads[slot] ?? END;
      heads[slot] = entry;
    }
    const count = this.#sinks.length;
    for (let slot = 0; slot < count; slot++) {
      this.#sinks[slot]?.takeEntries(this.#entries, heads[slot] ?? END);
    }
    this.#firstSlot += count;
    this.#sinks.length = 0;
    this.#length = 0;
    this.#characters = 0;
    this.#reader = undefined;
  }
}

/** What a server sends as an id can be any number. */
export function arePlain(ids: readonly TokenId[]): boolean {
  for (const id of ids) if (!(id >= 0 && id < LEAST_UNUSUAL)) return false;
  return ids.length > 0;
}

/** Larger numbers are no ids: they may stand for something else. */
export const LEAST_UNUSUAL = 0x80_00_00_00;
