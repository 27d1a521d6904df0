/**
 * What all turns have read and written lately, in order, until it is handed to their records. With a token per read, each
 * object that belongs to one turn has left the processor's cache before its next token comes: recorded there, a token costs
 * several times what it does here, where all turns share the same few lines of memory. Handed on are thousands at once.
 */
import type { EngineTokens } from "../../engines/engine.ts";
import type { TokenId } from "../../tokenizer/index.ts";
import type { ExchangeClock } from "./exchange-clock.ts";

/** Receives the ids of a turn. */
export interface ReadSink {
  /**
   * @param at by the clock. Undefined: the id belongs to the read of the one before it.
   * @param isParsed the turn has parsed it.
   */
  takeId(id: TokenId, at: number | undefined, isParsed: boolean): void;
}

/** Receives what was written for an exchange. */
export interface TextSink {
  /** @param at by the clock. */
  takeText(text: string, at: number): void;
}

/** Entries: an id or a text each. Of so few, hardly any text is still here when the garbage collector comes by. */
const CAPACITY = 1024;
/** Of texts. */
const MAX_CHARACTERS = 524_288;
/** What is longer is handed on at once. */
const LONGEST_READ = 64;

const FIRST_OF_READ = 1;
const PARSED = 2;

/** Takes less than 2 MB, however many turns there are. */
export class Journal {
  /** Of each entry, one is undefined. */
  readonly #reads: (ReadSink | undefined)[] = Array.from({ length: CAPACITY });
  readonly #writers: (TextSink | undefined)[] = Array.from({ length: CAPACITY });
  readonly #texts: string[] = Array.from({ length: CAPACITY }, () => "");
  readonly #times = new Float64Array(CAPACITY);
  readonly #ids = new Uint32Array(CAPACITY);
  /** Of ids. */
  readonly #marks = new Uint8Array(CAPACITY);
  readonly #clock: () => number;
  #length = 0;
  #characters = 0;
  /** Who has read last, and from which entry on it has not been parsed. */
  #reader: ReadSink | undefined;
  #unparsed = 0;
  /** What is written for a read is written at once: both have one time, because asking for it is not cheap. */
  #lastRead: ExchangeClock | undefined;
  #lastTime = 0;

  /** @param clock milliseconds; only differences are used. */
  constructor(clock: () => number) {
    this.#clock = clock;
  }

  /** False: nothing has been noted, because only plain ids are kept here. */
  read(sink: ReadSink, clock: ExchangeClock, tokens: EngineTokens): boolean {
    if (tokens.type !== "ids" || tokens.logprobs !== undefined) return false;
    const { ids } = tokens;
    const count = ids.length;
    if (tokens.cachedTokens !== undefined || count > LONGEST_READ || !arePlain(ids)) return false;
    if (this.#length + count > CAPACITY) this.handOn();
    const time = this.readTime(clock);
    const first = this.#length;
    for (let index = 0; index < count; index++) {
      const entry = first + index;
      this.#reads[entry] = sink;
      this.#times[entry] = time;
      this.#ids[entry] = ids[index] ?? 0;
      this.#marks[entry] = index === 0 ? FIRST_OF_READ : 0;
    }
    this.#length = first + count;
    this.#reader = sink;
    this.#unparsed = first;
    return true;
  }

  /** The turn has parsed so many of the ids that were read last. False: they are no longer here. */
  parsed(sink: ReadSink, count: number): boolean {
    const to = this.#unparsed + count;
    if (this.#reader !== sink || to > this.#length) return false;
    for (let entry = this.#unparsed; entry < to; entry++) {
      this.#marks[entry] = (this.#marks[entry] ?? 0) | PARSED;
    }
    this.#unparsed = to;
    return true;
  }

  /** Notes what is written. */
  text(sink: TextSink, clock: ExchangeClock, text: string): void {
    if (this.#length === CAPACITY) this.handOn();
    const entry = this.#length++;
    this.#writers[entry] = sink;
    this.#texts[entry] = text;
    this.#times[entry] = this.#writtenTime(clock);
    this.#reader = undefined;
    this.#characters += text.length;
    if (this.#characters > MAX_CHARACTERS) this.handOn();
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
    const length = this.#length;
    this.#length = 0;
    this.#characters = 0;
    this.#reader = undefined;
    for (let entry = 0; entry < length; entry++) {
      const time = this.#times[entry] ?? 0;
      const read = this.#reads[entry];
      if (read === undefined) {
        this.#writers[entry]?.takeText(this.#texts[entry] ?? "", time);
      } else {
        const mark = this.#marks[entry] ?? 0;
        const isFirst = (mark & FIRST_OF_READ) !== 0;
        read.takeId(this.#ids[entry] ?? 0, isFirst ? time : undefined, (mark & PARSED) !== 0);
      }
    }
    this.#reads.fill(undefined, 0, length);
    this.#writers.fill(undefined, 0, length);
    this.#texts.fill("", 0, length);
  }
}

/** What a server sends as an id can be any number. */
export function arePlain(ids: readonly TokenId[]): boolean {
  for (const id of ids) if (!(id >= 0 && id < LEAST_UNUSUAL)) return false;
  return ids.length > 0;
}

/** Larger numbers are no ids: they may stand for something else. */
export const LEAST_UNUSUAL = 0x80_00_00_00;
