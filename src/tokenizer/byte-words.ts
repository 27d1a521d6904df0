/**
 * Byte strings read as 32-bit words. Nearly every piece and token is at most eight bytes long, so
 * two loads and two masks take the place of a loop: no branch that depends on the length, which is
 * what hashing and comparing byte by byte spend their time on (a wrong guess costs 8 ns).
 */

/** How many bytes behind a byte string are read along and must exist. */
export const SLACK = 16;

/** What to keep of the first word of a string of 0 to 8 bytes. */
const LOW_MASKS = Int32Array.of(0, 0xff, 0xffff, 0xffffff, -1, -1, -1, -1, -1);
/** The same for the second word. */
const HIGH_MASKS = Int32Array.of(0, 0, 0, 0, 0, 0xff, 0xffff, 0xffffff, -1);

/** The first four bytes of the string of `length` (0 to 8) bytes at `start`, missing ones as zeros. */
export function lowWord(view: DataView, start: number, length: number): number {
  return view.getInt32(start, true) & LOW_MASKS[length]!;
}

/** The fifth to the eighth byte, missing ones as zeros. */
export function highWord(view: DataView, start: number, length: number): number {
  return view.getInt32(start + 4, true) & HIGH_MASKS[length]!;
}

/** A well-mixed 32-bit hash of `view[start … end)`, which must not be empty. */
export function hashOf(view: DataView, start: number, end: number): number {
  const length = end - start;
  if (length <= 8) {
    const low = lowWord(view, start, length);
    const high = highWord(view, start, length);
    return finish(Math.imul(low, 0x2c9277b5) ^ Math.imul(high + length, 0x85ebca6b));
  }
  let hash = length;
  const last = end - 4;
  for (let i = start; i < last; i += 4) {
    hash = Math.imul(hash ^ view.getInt32(i, true), 0x2c9277b5);
    hash ^= hash >>> 15;
  }
  return finish(Math.imul(hash ^ view.getInt32(last, true), 0x85ebca6b));
}

/** Whether `a[aStart … + length)` and `b[bStart … + length)` are the same bytes. */
export function equalBytes(
  a: DataView,
  aStart: number,
  b: DataView,
  bStart: number,
  length: number,
): boolean {
  if (length <= 8) {
    return (
      lowWord(a, aStart, length) === lowWord(b, bStart, length) &&
      highWord(a, aStart, length) === highWord(b, bStart, length)
    );
  }
  const last = length - 4;
  for (let i = 0; i < last; i += 4) {
    if (a.getInt32(aStart + i, true) !== b.getInt32(bStart + i, true)) return false;
  }
  return a.getInt32(aStart + last, true) === b.getInt32(bStart + last, true);
}

function finish(hash: number): number {
  const mixed = Math.imul(hash ^ (hash >>> 15), 0x27d4eb2f);
  return mixed ^ (mixed >>> 14);
}
