/**
 * What streams have recently read and written, as numbers in typed arrays that all streams share: the garbage collector need
 * not trace them. Each stream has a row of entries and of characters. An entry is an id that was read, a text that was written,
 * or an id and the text that was written because of it.
 *
 * An entry is two numbers of 32 bits, so that eight share a cache line, and they are those that logs keep:
 *
 *     time      tenths of a millisecond since the row's start
 *     content   length of the text (7 bits) | flags (5 bits) | id (20 bits)
 *
 * The constants are this module's own: one that is imported is read from memory each time.
 */

import type { EventForm } from "./event-form.ts";

const ID_BITS = 20;
const ID = (1 << ID_BITS) - 1;
/** Flags of an entry: it has an id, which its turn has parsed, and which came in the same read as the entry before it. */
const HAS_ID = 1 << ID_BITS;
const PARSED = 2 << ID_BITS;
const SAME_READ = 4 << ID_BITS;
/** Flags of an entry that has a text: that of the row's characters which is next, or that of the entry's id. */
const HAS_TEXT = 8 << ID_BITS;
const HAS_TEXT_OF_ID = 16 << ID_BITS;
const LENGTH_SHIFT = ID_BITS + 5;

/** Numbers per entry. */
const SIZE = 2;

export class JournalEntries {
  static readonly perRow = 64;
  static readonly charactersPerRow = 512;
  /** In characters. There are no entries for longer texts. */
  static readonly longestText = 64;
  readonly #numbers: Uint32Array;
  /** The texts of each row, one after the other, as UTF-16. */
  readonly characters: Uint16Array;
  /** Room for a pair of numbers per entry of a row, for whoever reads one. */
  readonly pairs = new Uint32Array(JournalEntries.perRow * 2);

  constructor(rows: number) {
    this.#numbers = new Uint32Array(rows * JournalEntries.perRow * SIZE);
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

  /** Whether there are entries for this id, which a server may have sent as any number. All of the vocabulary have one. */
  static canHold(id: number): boolean {
    return (id & ID) === id;
  }

  setId(
    entry: number,
    tenths: number,
    id: number,
    isFirstOfRead: boolean,
    isParsed: boolean,
  ): void {
    const flags = HAS_ID | (isFirstOfRead ? 0 : SAME_READ) | (isParsed ? PARSED : 0);
    this.#set(entry, tenths, id | flags);
  }

  setText(entry: number, tenths: number, length: number): void {
    this.#set(entry, tenths, HAS_TEXT | (length << LENGTH_SHIFT));
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

  tenths(entry: number): number {
    return this.#numbers[entry * SIZE] ?? 0;
  }

  id(entry: number): number {
    return this.#content(entry) & ID;
  }

  hasId(entry: number): boolean {
    return (this.#content(entry) & HAS_ID) !== 0;
  }

  isFirstOfRead(entry: number): boolean {
    return (this.#content(entry) & SAME_READ) === 0;
  }

  isParsed(entry: number): boolean {
    return (this.#content(entry) & PARSED) !== 0;
  }

  hasText(entry: number): boolean {
    return (this.#content(entry) & (HAS_TEXT | HAS_TEXT_OF_ID)) !== 0;
  }

  hasTextOfId(entry: number): boolean {
    return (this.#content(entry) & HAS_TEXT_OF_ID) !== 0;
  }

  /** The number of the text's characters in the row. */
  textLength(entry: number): number {
    return this.#content(entry) >>> LENGTH_SHIFT;
  }

  /** How many of these entries have an id that is parsed. */
  countParsed(first: number, end: number): number {
    let count = 0;
    for (let entry = first; entry < end; entry++) {
      if ((this.#content(entry) & PARSED) !== 0) count += 1;
    }
    return count;
  }

  /**
   * Copies the ids of these entries to {@link pairs}, each behind its time, or behind `sameRead` if it came in the same read as the
   * one before. Returns how many there are.
   */
  copyIds(first: number, end: number, sameRead: number): number {
    const { pairs } = this;
    const numbers = this.#numbers;
    let to = 0;
    for (let from = first * SIZE; from < end * SIZE; from += SIZE) {
      const content = numbers[from + 1] ?? 0;
      if ((content & HAS_ID) === 0) continue;
      pairs[to] = (content & SAME_READ) === 0 ? (numbers[from] ?? 0) : sameRead;
      pairs[to + 1] = content & ID;
      to += 2;
    }
    return to / 2;
  }

  #set(entry: number, tenths: number, content: number): void {
    const at = entry * SIZE;
    this.#numbers[at] = tenths;
    this.#numbers[at + 1] = content;
  }

  #addFlags(entry: number, flags: number): void {
    const at = entry * SIZE + 1;
    this.#numbers[at] = (this.#numbers[at] ?? 0) | flags;
  }

  #content(entry: number): number {
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
  /** Receives an event that does not have the form. @param at by the journal's clock, in tenths of a millisecond */
  takeText(text: string, at: number): void;
}
