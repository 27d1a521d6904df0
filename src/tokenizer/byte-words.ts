/**
 * Reads byte strings as 32-bit words. Nearly every pretoken and token has at most eight bytes, so two loads and
 * two masks replace a loop. Without branches on the length, there are no branch mispredictions (8 ns each),
 * which dominate hashing and comparing byte by byte.
 */

/** Bytes after a byte string that are read with it and must exist. */
export const SLACK = 16;

/** Lengths of byte strings for which there are masks: 0 to 255. */
const LENGTHS = 256;
/** [length] → mask of the first word of a string. */
export const LOW_MASKS = new Int32Array(LENGTHS).fill(-1);
LOW_MASKS.set([0, 0xff, 0xffff, 0xffffff]);
/** [length] → mask of the second word of a string. */
export const HIGH_MASKS = new Int32Array(LENGTHS).fill(-1);
HIGH_MASKS.set([0, 0, 0, 0, 0, 0xff, 0xffff, 0xffffff]);
/** [length] → mask of a string's last four bytes, which are part of its hash if they are not in the first two words. */
export const LAST_MASKS = new Int32Array(LENGTHS).fill(-1, 9);

/** The first four bytes of the string of `length` (0 to 8) bytes at `start`, padded with zeros. */
export function lowWord(view: DataView, start: number, length: number): number {
  return view.getInt32(start, true) & LOW_MASKS[length]!;
}

/** The fifth to the eighth byte, padded with zeros. */
export function highWord(view: DataView, start: number, length: number): number {
  return view.getInt32(start + 4, true) & HIGH_MASKS[length]!;
}

/** A hash of the string of `length` (at least 1) bytes at `start`: of its first eight and its last four. */
export function hashOf(view: DataView, start: number, length: number): number {
  if (length <= 8) {
    const low = lowWord(view, start, length);
    return hashOfWords(low, highWord(view, start, length), length);
  }
  const low = view.getInt32(start, true) ^ view.getInt32(start + length - 4, true);
  return hashOfWords(low, view.getInt32(start + 4, true), length);
}

/** Like {@link hashOf}, for a string of up to eight bytes, given as words. */
export function hashOfWords(low: number, high: number, length: number): number {
  return mix(Math.imul(low, 0x2c9277b5) ^ Math.imul(high + length, 0x85ebca6b));
}

/** Whether two strings of more than four bytes are equal. */
export function equalBytes(
  a: DataView,
  aStart: number,
  b: DataView,
  bStart: number,
  length: number,
): boolean {
  const last = length - 4;
  for (let i = 0; i < last; i += 4) {
    if (a.getInt32(aStart + i, true) !== b.getInt32(bStart + i, true)) return false;
  }
  return a.getInt32(aStart + last, true) === b.getInt32(bStart + last, true);
}

/** Mixes high and low bits. */
function mix(hash: number): number {
  const mixed = Math.imul(hash ^ (hash >>> 15), 0x27d4eb2f);
  return mixed ^ (mixed >>> 14);
}
