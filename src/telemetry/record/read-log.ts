/** An append-only log of an engine call's reads and their times. */
import type { EngineTokens } from "../../engines/engine.ts";
import type { TokenId } from "../../tokenizer/index.ts";
import {
  idOf,
  SAME_READ as NOTE_OF_SAME_READ,
  timeOf,
  type TokenNote,
} from "../../turn/token-notes.ts";
import type { RecordBudget } from "./limits.ts";
import { arePlain, LEAST_UNUSUAL } from "./plain-ids.ts";
import { PairLog } from "./pair-log.ts";
import { addTenths, fromTenths, toTenths } from "./tenths.ts";
import type { PlainRead, ReadSource } from "./text-log.ts";

/** A read with its time, in milliseconds since the request was accepted. */
export interface TimedRead {
  readonly ms: number;
  readonly tokens: EngineTokens;
  /** Position of the next read. */
  readonly next: number;
}

/** Instead of a time: the id came in the same read as the id before it. */
const SAME_READ = 0xff_ff_ff_ff;
/** Added to an index in `#others`, instead of an id: a read that is not just plain ids. */
const OTHER = LEAST_UNUSUAL;

const PAIRS_AT_ONCE = 128;
/** The pairs that are being added. */
const pairs = new Uint32Array(PAIRS_AT_ONCE * 2);

/** Estimated size of a read that is kept as an object, without its ids or text, in bytes. */
const READ_BYTES = 160;
const TOKEN_BYTES = 12;

export class ReadLog implements ReadSource {
  readonly #budget: RecordBudget;
  /** The time and the id of each. */
  readonly #ids: PairLog;
  readonly #others: EngineTokens[] = [];
  #unitsOfOthers = 0;
  /** Once a read is left out, all later ones are: parsed tokens are found by their position among the reads. */
  #isFull = false;

  constructor(budget: RecordBudget) {
    this.#budget = budget;
    this.#ids = new PairLog((bytes) => budget.take(bytes, "reads", 0));
  }

  /** @param ms since the request was accepted. */
  add(tokens: EngineTokens, ms: number): void {
    if (this.#isFull) {
      this.#budget.leaveOut("reads", unitsOf(tokens));
    } else if (tokens.type === "ids" && tokens.logprobs === undefined && arePlain(tokens.ids)) {
      this.#addIds(tokens.ids, toTenths(ms));
    } else {
      this.#addOther(tokens, toTenths(ms));
    }
  }

  /**
   * Appends ids of the vocabulary. Returns the position of the first, or -1 if not all are kept.
   *
   * @param from index of their first note
   * @param to index behind the last one
   * @param start from which the times of notes are counted, in tenths since the request was accepted
   */
  addTokens(notes: readonly TokenNote[], from: number, to: number, start: number): number {
    const position = this.#ids.length;
    let at = from;
    while (at < to && !this.#isFull) {
      const count = Math.min(to - at, PAIRS_AT_ONCE);
      for (let pair = 0; pair < count; pair++) {
        const note = notes[at + pair] ?? 0;
        const time = timeOf(note);
        pairs[pair * 2] = time === NOTE_OF_SAME_READ ? SAME_READ : addTenths(start, time);
        pairs[pair * 2 + 1] = idOf(note);
      }
      const added = this.#ids.addAll(pairs, count);
      this.#isFull = added < count;
      at += added;
    }
    if (at === to) return position;
    this.#budget.leaveOut("reads", to - at);
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
    return this.#ids.length - this.#others.length + this.#unitsOfOthers;
  }

  /** The reads from a position on; the first is at 0. */
  *reads(from = 0): Generator<TimedRead> {
    let ms = 0;
    let ids: TokenId[] = [];
    let next = from;
    for (const [time, value] of this.#ids.pairs(from)) {
      if (time === SAME_READ) {
        ids.push(value);
        next += 1;
        continue;
      }
      if (ids.length > 0) yield { ms, tokens: { type: "ids", ids }, next };
      ms = fromTenths(time);
      ids = [];
      next += 1;
      const other = value < OTHER ? undefined : this.#others[value - OTHER];
      if (other === undefined) ids.push(value);
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
    let time = tenths;
    for (let index = 0; index < ids.length; index++) {
      if (!this.#ids.add(time, ids[index] ?? 0)) {
        this.#isFull = true;
        return this.#budget.leaveOut("reads", ids.length - index);
      }
      time = SAME_READ;
    }
  }

  #addOther(tokens: EngineTokens, tenths: number): void {
    const hasRoom =
      this.#budget.take(sizeOf(tokens), "reads", 0) &&
      this.#ids.add(tenths, OTHER + this.#others.length);
    this.#isFull = !hasRoom;
    if (!hasRoom) return this.#budget.leaveOut("reads", unitsOf(tokens));
    this.#others.push(tokens);
    this.#unitsOfOthers += unitsOf(tokens);
  }
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
