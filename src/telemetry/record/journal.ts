/**
 * A buffer of what all turns have recently read and written, before it goes to their records. By the time a turn's next
 * token arrives, the objects of that turn have left the processor's cache: writing to them costs several times as much as
 * appending to arrays that all turns share. The buffer is flushed after thousands of entries, turn by turn.
 */
import type { EngineTokens } from "../../engines/engine.ts";
import type { TokenId } from "../../tokenizer/index.ts";
import type { EventForm } from "./event-form.ts";
import type { ExchangeClock } from "./exchange-clock.ts";

/** Receives its own entries when the journal is flushed. */
export interface JournalSink {
  /** Set by the journal only. Initially {@link NO_SLOT}. */
  slot: number;
  /** @param first the sink's first entry; {@link JournalEntries.next} leads to the others. */
  takeEntries(entries: JournalEntries, first: number): void;
}

/** A sink of events that were written. */
export interface TextSink extends JournalSink {
  /** The form that the next events are expected to have, if one is known. */
  readonly form: EventForm | undefined;
  /** Sets the form of the next events. Returns false if there is no room for it. */
  takeForm(form: EventForm): boolean;
  /** Receives an event that does not have the form. @param at the journal's clock */
  takeText(text: string, at: number): void;
}

export const NO_SLOT = -1;
/** The value of `next` for a sink's last entry. */
export const END = 0xff_ff_ff_ff;

/** Entries. Each is a token id that was read, or the text of an event that has its sink's form. */
const CAPACITY = 8192;
/** In ids. Longer reads are not buffered. */
const LONGEST_READ = 64;
/** In characters. Longer texts are not buffered. */
const LONGEST_TEXT = 64;
/** Characters of all buffered texts. */
const TEXT_CAPACITY = 65_536;

/** Flag of an id that its turn has parsed. */
const PARSED = 1;
/** Flag of an id that came in the same read as the id before it. */
const SAME_READ = 2;
/**
 * 32-bit numbers per entry:
 * 0: the sink's slot; while the journal is flushed, the sink's next entry
 * 1: the id, or the length of the text
 * 2: the flags of the id, or the offset of the text
 * 3: unused
 * 4, 5: the time, as a 64-bit float
 */
const SIZE = 6;
/** 64-bit numbers per entry, and the index of the time among them. */
const LONG_SIZE = SIZE / 2;
const TIME = 2;

/** The entries, as numbers in typed arrays: the garbage collector need not trace them. */
export class JournalEntries {
  /** All numbers of an entry are adjacent, so that they share a cache line. */
  readonly numbers = new Uint32Array(CAPACITY * SIZE);
  readonly times = new Float64Array(this.numbers.buffer);
  /** All texts, one after the other, as UTF-16. */
  readonly characters = new Uint16Array(TEXT_CAPACITY);

  /** The same sink's next entry, or {@link END}. */
  next(entry: number): number {
    return this.numbers[entry * SIZE] ?? END;
  }

  /** When it was noted, by the journal's clock. */
  time(entry: number): number {
    return this.times[entry * LONG_SIZE + TIME] ?? 0;
  }

  /** The id, or the length of the text. */
  value(entry: number): number {
    return this.numbers[entry * SIZE + 1] ?? 0;
  }

  /** The offset of the text in `characters`. */
  start(entry: number): number {
    return this.numbers[entry * SIZE + 2] ?? 0;
  }

  /** Whether an id is the first of its read. */
  isFirstOfRead(entry: number): boolean {
    return (this.start(entry) & SAME_READ) === 0;
  }

  /** Whether the turn has parsed the id. */
  isParsed(entry: number): boolean {
    return (this.start(entry) & PARSED) !== 0;
  }
}

/** Takes half a megabyte, however many turns run. */
export class Journal {
  readonly #entries = new JournalEntries();
  readonly #numbers = this.#entries.numbers;
  readonly #times = this.#entries.times;
  readonly #texts = this.#entries.characters;
  readonly #heads = new Uint32Array(CAPACITY);
  readonly #sinks: JournalSink[] = [];
  readonly #clock: () => number;
  /** Slots are never reused. Smaller ones belong to entries that have been flushed. */
  #firstSlot = 0;
  #length = 0;
  #characters = 0;
  /** The sink of the last read, and the read's first entry that has not been parsed. */
  #reader: JournalSink | undefined;
  #unparsed = 0;
  /** What a read causes to be written is written at once and gets the time of the read, because asking for the time is not cheap. */
  #lastRead: ExchangeClock | undefined;
  #lastTime = 0;
  /** The sink whose next event was announced by {@link made}, the length of its text and of the event. The text follows the last entry's. */
  #maker: TextSink | undefined;
  #madeText = 0;
  #madeEvent = 0;

  /** @param clock milliseconds; only differences are used. */
  constructor(clock: () => number) {
    this.#clock = clock;
  }

  /**
   * Notes the ids of a read. Returns false, with nothing noted, unless they are few and without log probabilities or usage.
   *
   * @param isParsed the turn has parsed them; otherwise {@link parsed} follows.
   */
  read(sink: JournalSink, clock: ExchangeClock, tokens: EngineTokens, isParsed: boolean): boolean {
    if (tokens.type !== "ids" || tokens.logprobs !== undefined) return false;
    const { ids } = tokens;
    const count = ids.length;
    if (tokens.cachedTokens !== undefined || count > LONGEST_READ || count === 0) return false;
    if (this.#length + count > CAPACITY) this.handOn();
    const first = this.#length;
    const slot = this.#slotOf(sink);
    const time = this.readTime(clock);
    let flags = isParsed ? PARSED : 0;
    for (const id of ids) {
      if (!isPlain(id)) {
        this.#length = first;
        return false;
      }
      this.#add(slot, time, id, flags);
      flags |= SAME_READ;
    }
    this.#reader = isParsed ? undefined : sink;
    this.#unparsed = first;
    return true;
  }

  /** Notes that the turn has parsed `count` more ids of its last read. Returns false if that read is not in the journal. */
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
   * Announces that this sink's next event is this one, which has this form and this text, or contains it. If its length is
   * the same, it is that event, and need not be compared.
   */
  made(sink: TextSink, form: EventForm, text: string, eventLength: number): void {
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
    this.#madeEvent = eventLength;
  }

  /** Notes one or more events that are written at once. */
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

  /** The current time by the journal's clock, for a read. */
  readTime(clock: ExchangeClock): number {
    this.#lastRead = clock;
    return (this.#lastTime = this.#clock());
  }

  /** The time of a write: that of the last read if the read caused it. */
  #writtenTime(clock: ExchangeClock): number {
    if (this.#lastRead !== clock) return this.#clock();
    this.#lastRead = undefined;
    return this.#lastTime;
  }

  /** The next write of this exchange is not caused by its last read. */
  pass(clock: ExchangeClock): void {
    if (this.#lastRead === clock) this.#lastRead = undefined;
  }

  /** Flushes all entries to their sinks: before other facts of a turn are recorded, and before a record is made. */
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

/** Whether all are usual ids: a server may send any number. */
export function arePlain(ids: readonly TokenId[]): boolean {
  return ids.length > 0 && ids.every(isPlain);
}

function isPlain(id: TokenId): boolean {
  return id >= 0 && id < LEAST_UNUSUAL;
}

/** Numbers from here on are not ids; logs use them for other purposes. */
export const LEAST_UNUSUAL = 0x80_00_00_00;
