/**
 * A buffer of what streams have recently read and written, before it goes to their records.
 *
 * By the time a stream's next token arrives, its objects have left the processor's cache: to find and to change them costs
 * several times as much as what is done with them. So nothing of a recorded stream is touched for a token but a row of numbers in
 * arrays that all streams share. A stream knows its row by a number. What is noted by it goes to the objects behind the row
 * once the row is full, when something else is recorded of the stream, or when its record is read.
 *
 * A number is given to one exchange or to one turn only. When that has ended, the number is void: whatever is still noted by it
 * is refused, and takes the way through the objects.
 */
import type { EngineTokens } from "../../engines/engine.ts";
import { tokenText } from "../../tokenizer/index.ts";
import type { EventForm } from "./event-form.ts";
import { JournalEntries, type ReadSink, type TextSink } from "./journal-entries.ts";
import { RowNumbers } from "./row-numbers.ts";
import { limitTenths, wholeTenths } from "./tenths.ts";

type IdTokens = Extract<EngineTokens, { type: "ids" }>;

/** Instead of the number of a row, and of a form. */
export const NO_ROW = 0;
export const NO_FORM = 0;

/** Entries, and characters of texts, of a row. */
const ROW_ENTRIES = JournalEntries.perRow;
const ROW_CHARACTERS = JournalEntries.charactersPerRow;
/** In ids. Longer reads are not buffered. */
const LONGEST_READ = ROW_ENTRIES - 1;
/** In characters. Longer texts are not buffered. */
const LONGEST_TEXT = JournalEntries.longestText;

/** Instead of the length of a text: it is that of the last id. */
const OF_ID = -1;

/** Rows at first. All together would take 6 MB. Streams that get none are recorded without one. */
const FIRST_ROWS = 16;
/** The part of a row's number that is its index. The rest is different for each owner. */
const INDEX = RowNumbers.lastRow;
const LARGEST_FORM = 0x7f_ff_ff_ff;
/** Instead of the number of a row or of an entry: nobody has it. */
const NOBODY = -1;

/** Numbers per row, of 32 bits each: */
const STATE_SIZE = 8;
/** The number that the row's turn knows it by. */
const TURN = 0;
/** The number of the exchange that the turn belongs to, and that the row belongs to if its index is the row's. */
const EXCHANGE = 1;
/** Entries and characters that are used. */
const ENTRIES = 2;
const CHARACTERS = 3;
/** The number of the form that events are known to have. */
const FORM = 4;
const UNKNOWN_FORM = -1;
/** 64-bit numbers per row, and the index among them of the time that those of the row's entries count from. */
const LONG_SIZE = STATE_SIZE / 2;
const START = 3;

export class Journal {
  readonly #clock: () => number;
  #entries = new JournalEntries(FIRST_ROWS);
  #states = new Int32Array(FIRST_ROWS * STATE_SIZE);
  #starts = new Float64Array(this.#states.buffer);
  readonly #turns: (ReadSink | undefined)[] = [];
  readonly #exchanges: (TextSink | undefined)[] = [];
  readonly #numbers = new RowNumbers();
  /** The number of the last form. */
  #forms = NO_FORM;
  /**
   * The exchange of the last read that nothing has been written for, and its time. What a read causes to be written is written at
   * once and gets the time of the read, because asking for the time is not cheap.
   */
  #lastRead = NOBODY;
  #lastTime = 0;
  /** The read's last entry, as long as it is the last one of its row, and its id. */
  #lastEntry = NOBODY;
  #lastId = 0;
  /**
   * The exchange whose next event was announced, the length of its text and of the event. The text follows the row's last one, or
   * is that of the last read's last id.
   */
  #maker = NOBODY;
  #madeText = 0;
  #madeEvent = 0;
  /** The turn whose last read has not been parsed, the first entry that has not, and the one behind the last. */
  #reader = NOBODY;
  #unparsed = 0;
  #unparsedEnd = 0;

  /** @param clock milliseconds; only differences are used. */
  constructor(clock: () => number) {
    this.#clock = clock;
    // The first row is nobody's, as it would be that of `NO_ROW`.
    this.#states.fill(NOBODY, 0, STATE_SIZE);
  }

  /**
   * A row for what an exchange writes. {@link NO_ROW} if there is none: nothing of it is buffered.
   *
   * @param start that times of entries count from, by the journal's clock in tenths of a millisecond
   */
  openExchange(sink: TextSink, start: number): number {
    const index = this.#takeRow(start);
    const number = this.#numbers.next(index);
    if (number === NO_ROW) return NO_ROW;
    this.#exchanges[index] = sink;
    this.#set(index, EXCHANGE, number);
    return number;
  }

  /** A row for what a turn reads: that of its exchange, if no other turn has it. {@link NO_ROW} and `start` as above. */
  openTurn(sink: ReadSink, exchange: number, start: number): number {
    const shared = this.#rowOf(exchange, EXCHANGE);
    const isShared = shared !== NO_ROW && this.#turns[shared] === undefined;
    const index = isShared ? shared : this.#takeRow(start);
    const number = this.#numbers.next(index);
    if (number === NO_ROW) return NO_ROW;
    if (!isShared && exchange !== NO_ROW) this.#set(index, EXCHANGE, exchange);
    this.#turns[index] = sink;
    this.#set(index, TURN, number);
    return number;
  }

  /** The exchange has ended. */
  closeExchange(exchange: number): void {
    const index = this.#rowOf(exchange, EXCHANGE);
    if (index === NO_ROW) return;
    this.#flushRow(index);
    this.#exchanges[index] = undefined;
    this.#set(index, EXCHANGE, NOBODY);
    this.#set(index, FORM, UNKNOWN_FORM);
    this.#maker = NOBODY;
    this.pass(exchange);
    this.#releaseRow(index);
  }

  /** The turn has ended. */
  closeTurn(turn: number): void {
    const index = this.#rowOf(turn, TURN);
    if (index === NO_ROW) return;
    this.#flushRow(index);
    this.#turns[index] = undefined;
    this.#set(index, TURN, NOBODY);
    this.#releaseRow(index);
  }

  /**
   * Notes ids that a turn has read and parsed. Returns false, with nothing noted, unless the row is the turn's and the ids are
   * few, plain and without log probabilities or usage.
   */
  noteParsed(turn: number, tokens: IdTokens): boolean {
    return this.#addIds(turn, tokens, true);
  }

  /** The same for ids that have not been parsed. {@link parsed} follows. */
  read(turn: number, tokens: IdTokens): boolean {
    if (!this.#addIds(turn, tokens, false)) return false;
    const index = turn & INDEX;
    this.#reader = turn;
    this.#unparsedEnd = index * ROW_ENTRIES + this.#get(index, ENTRIES);
    this.#unparsed = this.#unparsedEnd - tokens.ids.length;
    return true;
  }

  /** Notes that the turn has parsed `count` more ids of its last read. Returns false if that read is not in the journal. */
  parsed(turn: number, count: number): boolean {
    const to = this.#unparsed + count;
    if (this.#reader !== turn || to > this.#unparsedEnd) return false;
    for (let entry = this.#unparsed; entry < to; entry++) this.#entries.markParsed(entry);
    this.#unparsed = to;
    return true;
  }

  #addIds(turn: number, tokens: IdTokens, areParsed: boolean): boolean {
    const { ids } = tokens;
    const count = ids.length;
    const index = turn & INDEX;
    const states = this.#states;
    const state = index * STATE_SIZE;
    if (states[state + TURN] !== turn) return false;
    if (tokens.logprobs !== undefined || tokens.cachedTokens !== undefined) return false;
    if (count > LONGEST_READ || count === 0) return false;
    let used = states[state + ENTRIES] ?? 0;
    // One entry stays free, for a text that was not caused by the read.
    if (used + count >= ROW_ENTRIES) {
      this.#flushRow(index);
      used = 0;
    }
    const first = index * ROW_ENTRIES + used;
    const time = this.#now();
    const tenths = this.#tenthsOf(index, time);
    let id = 0;
    for (let at = 0; at < count; at++) {
      id = ids[at] ?? NOBODY;
      if (!JournalEntries.canHold(id)) return false;
      this.#entries.setId(first + at, tenths, id, at === 0, areParsed);
    }
    states[state + ENTRIES] = used + count;
    const exchange = states[state + EXCHANGE] ?? NOBODY;
    this.#lastRead = exchange;
    this.#lastTime = time;
    this.#lastEntry = (exchange & INDEX) === index ? first + count - 1 : NOBODY;
    this.#lastId = id;
    this.#reader = NOBODY;
    // Its text may be that of the id before.
    this.#maker = NOBODY;
    return true;
  }

  /**
   * Announces that this exchange's next event is one of this form that has this text as JSON, or contains it. If its length is the
   * same, it is that event, and need not be compared. Returns false if the form, by the number from {@link announce}, is not the
   * exchange's.
   */
  noteMade(
    exchange: number,
    form: number,
    text: string,
    json: string,
    eventLength: number,
  ): boolean {
    const index = exchange & INDEX;
    const state = index * STATE_SIZE;
    if (this.#states[state + EXCHANGE] !== exchange) return false;
    if (this.#states[state + FORM] !== form) return false;
    this.#maker = NOBODY;
    this.#madeEvent = eventLength;
    if (this.#entryFor(exchange) !== NOBODY && tokenText(this.#lastId) === text) {
      this.#maker = exchange;
      this.#madeText = OF_ID;
      return true;
    }
    const { length } = json;
    if (length > LONGEST_TEXT) return true;
    if (!this.#hasRoom(index, length)) {
      this.#flushRow(index);
      if (this.#states[state + FORM] !== form) return false;
    }
    this.#write(index, json, 0, length);
    this.#maker = exchange;
    this.#madeText = length;
    return true;
  }

  /** The same for an event of any form. Returns the form's number, or {@link NO_FORM} if it has none. */
  announce(
    exchange: number,
    sink: TextSink,
    form: EventForm,
    text: string,
    json: string,
    eventLength: number,
  ): number {
    this.#maker = NOBODY;
    const index = this.#rowOf(exchange, EXCHANGE);
    if (index === NO_ROW) return NO_FORM;
    if (sink.form !== form) {
      this.#flushRow(index);
      this.#set(index, FORM, UNKNOWN_FORM);
      if (!sink.takeForm(form)) return NO_FORM;
    }
    this.#forms = (this.#forms % LARGEST_FORM) + 1;
    this.#set(index, FORM, this.#forms);
    this.noteMade(exchange, this.#forms, text, json, eventLength);
    return this.#forms;
  }

  /** Notes that an event of this length is written. Returns false, with nothing noted, unless it is the one that was announced. */
  noteWritten(exchange: number, eventLength: number): boolean {
    if (this.#maker !== exchange || this.#madeEvent !== eventLength) return false;
    this.#maker = NOBODY;
    const index = exchange & INDEX;
    const length = this.#madeText;
    const entry = this.#entryFor(exchange);
    if (entry === NOBODY) {
      if (length === OF_ID) return false;
      this.#addText(index, length, this.#writtenTime(exchange));
      return true;
    }
    this.#lastRead = NOBODY;
    if (length === OF_ID) {
      this.#entries.addTextOfId(entry);
    } else {
      this.#entries.addText(entry, length);
      this.#set(index, CHARACTERS, this.#get(index, CHARACTERS) + length);
    }
    return true;
  }

  /** The last entry of this exchange's row, if it is that of a read for which nothing has been written. Otherwise {@link NOBODY}. */
  #entryFor(exchange: number): number {
    return this.#lastRead === exchange ? this.#lastEntry : NOBODY;
  }

  /** Notes one or more events that are written at once. */
  text(exchange: number, sink: TextSink, event: string): void {
    if (this.noteWritten(exchange, event.length)) return;
    this.#maker = NOBODY;
    const time = this.#writtenTime(exchange);
    const index = this.#rowOf(exchange, EXCHANGE);
    const { form } = sink;
    const length = form === undefined ? -1 : form.match(event);
    if (form !== undefined && length >= 0) {
      if (index !== NO_ROW && length <= LONGEST_TEXT && this.#hasRoom(index, length)) {
        this.#write(index, event, form.from, length);
        return this.#addText(index, length, time);
      }
      form.unmatch();
    }
    this.#flushRow(index);
    sink.takeText(event, time);
    if (sink.form !== form && index !== NO_ROW) this.#set(index, FORM, UNKNOWN_FORM);
  }

  /** The current time by the journal's clock, in tenths of a millisecond, for a read. */
  readTime(exchange: number): number {
    this.#lastRead = exchange === NO_ROW ? NOBODY : exchange;
    this.#lastEntry = NOBODY;
    return (this.#lastTime = this.#now());
  }

  /** The next write of this exchange is not caused by its last read. */
  pass(exchange: number): void {
    if (this.#lastRead === exchange) this.#lastRead = NOBODY;
  }

  /** Hands on what is noted of a turn or an exchange: before other facts of it are recorded, and before a record is made. */
  flush(number: number): void {
    this.#flushRow(this.#rowOf(number, TURN));
    this.#flushRow(this.#rowOf(number, EXCHANGE));
  }

  /** The time of a write: that of the last read if the read caused it. */
  #writtenTime(exchange: number): number {
    if (this.#lastRead !== exchange) return this.#now();
    this.#lastRead = NOBODY;
    return this.#lastTime;
  }

  #now(): number {
    return wholeTenths(this.#clock());
  }

  /** A time as entries of a row have it. */
  #tenthsOf(index: number, time: number): number {
    return limitTenths(time - (this.#starts[index * LONG_SIZE + START] ?? 0));
  }

  #hasRoom(index: number, length: number): boolean {
    const state = index * STATE_SIZE;
    const characters = (this.#states[state + CHARACTERS] ?? 0) + length;
    return (this.#states[state + ENTRIES] ?? 0) < ROW_ENTRIES && characters <= ROW_CHARACTERS;
  }

  /** Writes a text behind the row's last one. */
  #write(index: number, text: string, from: number, length: number): void {
    const used = this.#states[index * STATE_SIZE + CHARACTERS] ?? 0;
    const at = index * ROW_CHARACTERS + used;
    const { characters } = this.#entries;
    for (let each = 0; each < length; each++) characters[at + each] = text.charCodeAt(from + each);
  }

  /** Adds an entry for the text that {@link #write} has written. */
  #addText(index: number, length: number, time: number): void {
    const state = index * STATE_SIZE;
    const used = this.#states[state + ENTRIES] ?? 0;
    this.#entries.setText(index * ROW_ENTRIES + used, this.#tenthsOf(index, time), length);
    this.#states[state + ENTRIES] = used + 1;
    this.#states[state + CHARACTERS] = (this.#states[state + CHARACTERS] ?? 0) + length;
    this.#reader = NOBODY;
    this.#lastEntry = NOBODY;
  }

  #flushRow(index: number): void {
    const used = this.#get(index, ENTRIES);
    if (used <= 0) return;
    this.#set(index, ENTRIES, 0);
    this.#set(index, CHARACTERS, 0);
    this.#maker = NOBODY;
    this.#reader = NOBODY;
    this.#lastEntry = NOBODY;
    const first = index * ROW_ENTRIES;
    this.#turns[index]?.takeReads(this.#entries, first, first + used);
    const exchange = this.#exchanges[index];
    if (exchange === undefined) return;
    const { form } = exchange;
    exchange.takeTexts(this.#entries, first, first + used, index * ROW_CHARACTERS);
    if (exchange.form !== form) this.#set(index, FORM, UNKNOWN_FORM);
  }

  /** The row of which this is the number, as its turn's or its exchange's. {@link NO_ROW} if there is none. */
  #rowOf(number: number, owner: typeof TURN | typeof EXCHANGE): number {
    const index = number & INDEX;
    return this.#get(index, owner) === number ? index : NO_ROW;
  }

  /** A row that is nobody's. {@link NO_ROW} if all are taken. @param start see {@link openExchange} */
  #takeRow(start: number): number {
    const index = this.#numbers.takeRow();
    if (index === NO_ROW) return NO_ROW;
    if (index * STATE_SIZE === this.#states.length) {
      this.#entries = this.#entries.doubled();
      const states = new Int32Array(this.#states.length * 2);
      states.set(this.#states);
      this.#states = states;
      this.#starts = new Float64Array(states.buffer);
    }
    this.#starts[index * LONG_SIZE + START] = start;
    this.#set(index, TURN, NOBODY);
    this.#set(index, EXCHANGE, NOBODY);
    this.#set(index, FORM, UNKNOWN_FORM);
    return index;
  }

  /** Frees a row once nobody has it. */
  #releaseRow(index: number): void {
    if (this.#turns[index] !== undefined || this.#exchanges[index] !== undefined) return;
    this.#set(index, EXCHANGE, NOBODY);
    this.#numbers.free(index);
  }

  #get(index: number, what: number): number {
    return this.#states[index * STATE_SIZE + what] ?? NOBODY;
  }

  #set(index: number, what: number, value: number): void {
    this.#states[index * STATE_SIZE + what] = value;
  }
}
