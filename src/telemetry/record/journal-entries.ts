/**
 * What streams have recently read and written, as numbers in typed arrays that all streams share: the garbage collector need
 * not trace them. Each stream has a row of entries and of characters. An entry is an id that was read, a text that was written,
 * or an id and the text that was written because of it.
 *
 * The constants are this module's own: one that is imported is read from memory each time.
 */

import type { EventForm } from "./event-form.ts";

/** Flags of an entry: it has an id, which its turn has parsed, and which came in the same read as the entry before it. */
const HAS_ID = 1;
const PARSED = 2;
const SAME_READ = 4;
/** Flags of an entry that has a text: that of the row's characters which is next, or that of the entry's id. */
const HAS_TEXT = 8;
const HAS_TEXT_OF_ID = 16;
/** The length of the text is above the flags. */
const LENGTH_SHIFT = 8;

/**
 * 32-bit numbers per entry:
 * 0: the id
 * 1: the flags, and the length of the text
 * 2, 3: the time, as a 64-bit float
 */
const SIZE = 4;
/** 64-bit numbers per entry, and the index of the time among them. */
const LONG_SIZE = SIZE / 2;
const TIME = 1;

export class JournalEntries {
  static readonly perRow = 64;
  static readonly charactersPerRow = 512;
  /** All numbers of an entry are adjacent, so that they share a cache line. */
  readonly #numbers: Int32Array;
  readonly #times: Float64Array;
  /** The texts of each row, one after the other, as UTF-16. */
  readonly characters: Uint16Array;
  /** Room for a pair of numbers per entry of a row, for whoever reads one. */
  readonly pairs = new Uint32Array(JournalEntries.perRow * 2);

  constructor(rows: number) {
    this.#numbers = new Int32Array(rows * JournalEntries.perRow * SIZE);
    this.#times = new Float64Array(this.#numbers.buffer);
    this.characters = new Uint16Array(rows * JournalEntries.charactersPerRow);
  }

  /** Entries for twice as many rows, of which the first half are these. */
  doubled(): JournalEntries {
    const rows = this.characters.length / JournalEntries.charactersPerRow;
    const doubled = new JournalEntries(rows * 2);
    doubled.#numbers.set(this.#numbers);
    doubled.characters.set(this.characters);
    return doubled;
  }

  setId(entry: number, time: number, id: number, isFirstOfRead: boolean, isParsed: boolean): void {
    this.#set(entry, time, id, HAS_ID | (isFirstOfRead ? 0 : SAME_READ) | (isParsed ? PARSED : 0));
  }

  setText(entry: number, time: number, length: number): void {
    this.#set(entry, time, 0, HAS_TEXT | (length << LENGTH_SHIFT));
  }

  /** Adds a text to an entry that has an id only. */
  addText(entry: number, length: number): void {
    this.#addFlags(entry, HAS_TEXT | (length << LENGTH_SHIFT));
  }

  /** The text is that of the entry's id. */
  addTextOfId(entry: number): void {
    this.#addFlags(entry, HAS_TEXT_OF_ID);
  }

  markParsed(entry: number): void {
    this.#addFlags(entry, PARSED);
  }

  /** By the journal's clock. */
  time(entry: number): number {
    return this.#times[entry * LONG_SIZE + TIME] ?? 0;
  }

  id(entry: number): number {
    return this.#numbers[entry * SIZE] ?? 0;
  }

  hasId(entry: number): boolean {
    return (this.#flags(entry) & HAS_ID) !== 0;
  }

  isFirstOfRead(entry: number): boolean {
    return (this.#flags(entry) & SAME_READ) === 0;
  }

  isParsed(entry: number): boolean {
    return (this.#flags(entry) & PARSED) !== 0;
  }

  hasText(entry: number): boolean {
    return (this.#flags(entry) & (HAS_TEXT | HAS_TEXT_OF_ID)) !== 0;
  }

  hasTextOfId(entry: number): boolean {
    return (this.#flags(entry) & HAS_TEXT_OF_ID) !== 0;
  }

  /** The number of the text's characters in the row. */
  textLength(entry: number): number {
    return this.#flags(entry) >> LENGTH_SHIFT;
  }

  #set(entry: number, time: number, id: number, flags: number): void {
    const at = entry * SIZE;
    this.#numbers[at] = id;
    this.#numbers[at + 1] = flags;
    this.#times[entry * LONG_SIZE + TIME] = time;
  }

  #addFlags(entry: number, flags: number): void {
    const at = entry * SIZE + 1;
    this.#numbers[at] = (this.#numbers[at] ?? 0) | flags;
  }

  #flags(entry: number): number {
    return this.#numbers[entry * SIZE + 1] ?? 0;
  }
}

/** Receives ids that were read. */
export interface ReadSink {
  /** Entries from `first` to before `end`. Those without an id are not the sink's. */
  takeReads(entries: JournalEntries, first: number, end: number): void;
}

/** Receives events that were written. */
export interface TextSink {
  /** The form that the next events are expected to have, if one is known. */
  readonly form: EventForm | undefined;
  /** Sets the form of the next events. Returns false if there is no room for it. */
  takeForm(form: EventForm): boolean;
  /**
   * Entries from `first` to before `end`. Those with a text are events that have the form. The characters of their texts begin at
   * `character`. The text of an id is there as JSON in its event.
   */
  takeTexts(entries: JournalEntries, first: number, end: number, character: number): void;
  /** Receives an event that does not have the form. @param at the journal's clock */
  takeText(text: string, at: number): void;
}
