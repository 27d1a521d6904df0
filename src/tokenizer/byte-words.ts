/**
 * Reads byte strings as 32-bit words. Nearly every piece and token has at most eight bytes, so two loads and
 * two masks replace a loop. Without branches on the length, there are no branch mispredictions (8 ns each),
 * which dominate hashing and comparing byte by byte.
 */

/** Bytes after a byte string that are read with it and must exist. */
export const SLACK = 16;

/** Masks for the first word of a string of 0 to 8 bytes. */
export const LOW_MASKS = Int32Array.of(0, 0xff, 0xffff, 0xffffff, -1, -1, -1, -1, -1);
/** Masks for the second word. */
export const HIGH_MASKS = Int32Array.of(0, 0, 0, 0, 0, 0xff, 0xffff, 0xffffff, -1);

/** The first four bytes of the string of `length` (0 to 8) bytes at `start`, padded with zeros. */
export function lowWord(view: DataView, start: number, length: number): number {
  return view.getInt32(start, true) & LOW_MASKS[length]!;
}

/** The fifth to the eighth byte, padded with zeros. */
export function highWord(view: DataView, start: number, length: number): number {
  return view.getInt32(start + 4, true) & HIGH_MASKS[length]!;
}

/** A hash of the string of `length` (at least 1) bytes at `start`. */
export function hashOf(view: DataView, start: number, length: number): number {
  if (length <= 8) {
    const low = lowWord(view, start, length);
    return hashOfWords(low, highWord(view, start, length), length);
  }
  let hash = length;
  const last = start + length - 4;
  for (let i = start; i < last; i += 4) {
    hash = Math.imul(hash ^ view.getInt32(i, true), 0x2c9277b5);
    hash ^= hash >>> 15;
  }
  return mix(Math.imul(hash ^ view.getInt32(last, true), 0x85ebca6b));
}

/** The same for a string of up to eight bytes, given as words. */
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
