/**
 * Limits the byte arrays of a process. They are no part of the heap that it may have, and a few kilobytes of a compressed stream can
 * expand to gigabytes.
 */

/** Of one array, and of all large ones together, whether they are still used or not. */
const MAX_ARRAY = 64 * 1024 * 1024;
const MAX_TOTAL = 1024 * 1024 * 1024;
const LARGE = 1024 * 1024;

export function limitArrays(global: { Uint8Array: Uint8ArrayConstructor }): void {
  let total = 0;
  global.Uint8Array = new Proxy(Uint8Array, {
    construct(target, given: readonly unknown[], created) {
      const [length] = given;
      if (typeof length === "number" && length > LARGE) {
        total += length;
        if (length > MAX_ARRAY || total > MAX_TOTAL) throw new RangeError();
      }
      // Of the original, by which other code knows it.
      return Reflect.construct(target, given, created === global.Uint8Array ? target : created);
    },
  });
}
