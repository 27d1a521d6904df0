/** The reads of an engine call: what came, and when. */
import type { EngineTokens } from "../../engines/engine.ts";
import type { TokenId } from "../../tokenizer/index.ts";
import type { RecordBudget } from "./limits.ts";
import { arePlain, LEAST_UNUSUAL } from "./journal.ts";
import { PairLog } from "./pair-log.ts";
import { fromTenths, toTenths } from "./tenths.ts";

/** A read with its time, in milliseconds since the request was accepted. */
export interface TimedRead {
  readonly ms: number;
  readonly tokens: EngineTokens;
  /** The position of the next one. */
  readonly next: number;
}

/** In place of a time: the id belongs to the read of the one before it. */
const SAME_READ = 0xff_ff_ff_ff;
/** In place of an id, with an index in `others` added: a read of anything but plain ids. */
const OTHER = LEAST_UNUSUAL;

/** Estimated bytes of a read that is kept as an object, without its ids or text. */
const READ_BYTES = 160;
const TOKEN_BYTES = 12;

export class ReadLog {
  readonly #budget: RecordBudget;
  /** The time of a read, and an id. */
  readonly #ids: PairLog;
  readonly #others: EngineTokens[] = [];
  #unitsOfOthers = 0;
  /** What was parsed of a read that is missing could not be placed: once one is left out, the rest is. */
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

  /** An id of a read. @param ms since the request was accepted. Undefined: the read is that of the id before it. */
  addId(id: TokenId, ms: number | undefined): void {
    this.#isFull ||= !this.#ids.add(ms === undefined ? SAME_READ : toTenths(ms), id);
    if (this.#isFull) this.#budget.leaveOut("reads", 1);
  }

  /** Ids, pieces and characters of all reads. */
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

  /** The position after so many reads from another one. */
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

/** In what a call is counted: ids, pieces or characters. */
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
