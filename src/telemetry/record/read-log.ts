/** An append-only log of an engine call's reads and their times. */
import type { EngineTokens } from "../../engines/engine.ts";
import type { TokenId } from "../../tokenizer/index.ts";
import {
  idOf,
  fitsNote,
  LONGEST_TIME,
  NO_ID,
  type NotesStart,
  SAME_READ,
  timeOf,
  toNote,
} from "../../turn/token-notes.ts";
import type { RecordBudget } from "./limits.ts";
import { NumberLog } from "./number-log.ts";
import { addTenths, fromTenths, toTenths } from "./tenths.ts";
import type { PlainRead, ReadSource } from "./text-log.ts";

/** A read with its time, in milliseconds since the request was accepted. */
export interface TimedRead {
  readonly ms: number;
  readonly tokens: EngineTokens;
  /** Position of the next read. */
  readonly next: number;
}

/** Notes whose times are counted from the same start. */
interface Run {
  /** Of the first note. */
  readonly position: number;
  /** In tenths of a millisecond since the request was accepted. */
  readonly start: number;
}

/** Estimated size of a run. */
const RUN_BYTES = 64;
/** Estimated size of a read that is kept as an object, without its ids or text, in bytes. */
const READ_BYTES = 160;
const TOKEN_BYTES = 12;

export class ReadLog implements ReadSource {
  readonly #budget: RecordBudget;
  /** One for each id, or for each read that is not just ids of the vocabulary. A position is an index in it. */
  readonly #notes: NumberLog;
  readonly #runs: Run[] = [];
  /** Reads that are not just ids of the vocabulary, by the positions of their notes. */
  readonly #others = new Map<number, EngineTokens>();
  #unitsOfOthers = 0;
  /** Once a read is left out, all later ones are: parsed tokens are found by their position among the reads. */
  #isFull = false;

  constructor(budget: RecordBudget) {
    this.#budget = budget;
    this.#notes = new NumberLog((bytes) => budget.take(bytes, "reads", 0));
  }

  /** @param ms since the request was accepted. */
  add(tokens: EngineTokens, ms: number): void {
    if (this.#isFull) {
      this.#budget.leaveOut("reads", unitsOf(tokens));
    } else if (tokens.type === "ids" && tokens.logprobs === undefined && fitNotes(tokens.ids)) {
      this.#addIds(tokens.ids, toTenths(ms));
    } else {
      this.#addOther(tokens, toTenths(ms));
    }
  }

  /**
   * Appends notes of ids. Returns the position of the first, or -1 if not all are kept.
   *
   * @param starts since the request was accepted; the first is that of the first note
   */
  addTokens(notes: Uint32Array, starts: readonly NotesStart[]): number {
    const position = this.#notes.length;
    const haveRoom = starts.every(({ at, time }) => this.#begin(time, position + at));
    const added = haveRoom ? this.#notes.addAll(notes) : 0;
    if (added === notes.length) return position;
    this.#isFull = true;
    this.#budget.leaveOut("reads", notes.length - added);
    return -1;
  }

  *plainReads(from: number, skip: number, count: number): Generator<PlainRead> {
    let at = -skip;
    for (const { ms, tokens } of this.reads(from)) {
      if (at === count) return;
      if (at++ >= 0 && tokens.type === "ids") yield { ms, ids: tokens.ids };
    }
  }

  /** The number of units in all reads: ids, pieces or characters. */
  get units(): number {
    return this.#notes.length - this.#others.size + this.#unitsOfOthers;
  }

  /** The reads from a position on; the first is at 0. */
  *reads(from = 0): Generator<TimedRead> {
    let run = this.#findRun(from);
    let ms = 0;
    let ids: TokenId[] = [];
    let next = from;
    for (const note of this.#notes.numbers(from)) {
      const position = next++;
      if ((this.#runs[run + 1]?.position ?? Infinity) <= position) run += 1;
      const time = timeOf(note);
      if (time === SAME_READ) {
        ids.push(idOf(note));
        continue;
      }
      if (ids.length > 0) yield { ms, tokens: { type: "ids", ids }, next: position };
      ms = fromTenths(addTenths(this.#runs[run]?.start ?? 0, time));
      ids = [];
      const other = idOf(note) === NO_ID ? this.#others.get(position) : undefined;
      if (other === undefined) ids.push(idOf(note));
      else yield { ms, tokens: other, next };
    }
    if (ids.length > 0) yield { ms, tokens: { type: "ids", ids }, next };
  }

  /** The position that is `reads` reads after `from`. */
  positionAfter(from: number, reads: number): number {
    let position = from;
    let left = reads;
    for (const { next } of this.reads(from)) {
      if (left-- === 0) break;
      position = next;
    }
    return position;
  }

  #addIds(ids: readonly TokenId[], tenths: number): void {
    let time = this.#timeAt(tenths);
    for (let index = 0; index < ids.length; index++) {
      this.#isFull ||= !this.#notes.add(toNote(ids[index] ?? 0, time));
      if (this.#isFull) return this.#budget.leaveOut("reads", ids.length - index);
      time = SAME_READ;
    }
  }

  #addOther(tokens: EngineTokens, tenths: number): void {
    const position = this.#notes.length;
    this.#isFull = !this.#budget.take(sizeOf(tokens), "reads", 0);
    const time = this.#timeAt(tenths);
    this.#isFull ||= !this.#notes.add(toNote(NO_ID, time));
    if (this.#isFull) return this.#budget.leaveOut("reads", unitsOf(tokens));
    this.#others.set(position, tokens);
    this.#unitsOfOthers += unitsOf(tokens);
  }

  /** The time of a note that comes next, in a run that is begun if need be. */
  #timeAt(tenths: number): number {
    const time = tenths - (this.#runs.at(-1)?.start ?? -Infinity);
    if (time >= 0 && time <= LONGEST_TIME) return time;
    this.#isFull ||= !this.#begin(tenths, this.#notes.length);
    return 0;
  }

  /** Begins a run. Returns false if there is no room for it. @param position of its first note */
  #begin(start: number, position: number): boolean {
    if (this.#isFull || !this.#budget.take(RUN_BYTES, "reads", 0)) return false;
    this.#runs.push({ position, start });
    return true;
  }

  /** The index of the run that the note at a position belongs to. */
  #findRun(position: number): number {
    let low = 0;
    let high = this.#runs.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#runs[middle]?.position ?? 0) <= position) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }
}

/** Whether there are any, and all can be in notes. */
function fitNotes(ids: readonly TokenId[]): boolean {
  return ids.length > 0 && ids.every(fitsNote);
}

/** The number of units: ids, pieces or characters. */
export function unitsOf(tokens: EngineTokens): number {
  switch (tokens.type) {
    case "ids":
      return tokens.ids.length;
    case "pieces":
      return tokens.pieces.length;
    case "text":
      return tokens.text.length;
    default:
      return tokens satisfies never;
  }
}

function sizeOf(tokens: EngineTokens): number {
  switch (tokens.type) {
    case "ids": {
      let bytes = READ_BYTES + tokens.ids.length * TOKEN_BYTES;
      for (const { top } of tokens.logprobs ?? []) bytes += READ_BYTES + top.length * READ_BYTES;
      return bytes;
    }
    case "pieces":
      return tokens.pieces.reduce(
        (sum, piece) => sum + READ_BYTES + ("text" in piece ? piece.text.length * 2 : 0),
        READ_BYTES,
      );
    case "text":
      return READ_BYTES + tokens.text.length * 2;
    default:
      return tokens satisfies never;
  }
}
