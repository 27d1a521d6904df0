/**
 * An id and the time when it was read, as one small integer: a list of them is no longer than a list of ids, and V8 keeps it
 * as plain numbers.
 */
import type { TokenId } from "../tokenizer/index.ts";

/** See {@link toNote}. */
export type TokenNote = number;

/** From here on, the times of notes are counted from another start. */
export interface NotesStart {
  /** Index of the first note. */
  readonly at: number;
  /** Tenths of a millisecond. */
  readonly time: number;
}

/** Enough for all ids of the vocabulary. */
const ID_BITS = 18;
const ID_MASK = 2 ** ID_BITS - 1;
/** Instead of an id, where something else was read. */
export const NO_ID = ID_MASK;
/** Instead of a time: the id came in the same read as the id before it. */
export const SAME_READ = 2 ** (32 - ID_BITS) - 1;
/** Notes that a listener is told of at once, at most. To be told, of few or many, costs as much as two tokens. */
export const MOST_NOTES = 2048;
/** The longest time of a note, in tenths of a millisecond: 1.6 seconds. */
export const LONGEST_TIME = SAME_READ - 1;

/**
 * @param id of the vocabulary
 * @param time tenths of a millisecond since a start that is kept elsewhere, at most {@link LONGEST_TIME}; or {@link SAME_READ}
 */
export function toNote(id: TokenId, time: number): TokenNote {
  return id | (time << ID_BITS);
}

/** Whether a note can hold this id. A server may send any number. */
export function fitsNote(id: TokenId): boolean {
  return id >= 0 && id < NO_ID;
}

export function idOf(note: TokenNote): TokenId {
  return note & ID_MASK;
}

export function timeOf(note: TokenNote): number {
  return note >>> ID_BITS;
}
