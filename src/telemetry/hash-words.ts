/** A hash of words that may not stand in the log: the same words can be told to be the same, and no more. */

/** Of this process, and never printed: without it nobody can try words out. Drawn late, as Workers demand. */
let key: Uint32Array | undefined;

/** 64 bits as 16 hex digits. */
export function hashWords(words: string): string {
  key ??= crypto.getRandomValues(new Uint32Array(2));
  const [first = 0, second = 0] = key;
  return hash(words, first) + hash(words, second);
}

/** FNV-1a from a secret start, and mixed, so that the end of the words tells nothing of the start. */
function hash(words: string, start: number): string {
  let value = start;
  for (let at = 0; at < words.length; at++) {
    value = Math.imul(value ^ words.charCodeAt(at), 0x01000193);
  }
  value = Math.imul(value ^ (value >>> 16) ^ start, 0x85ebca6b);
  value = Math.imul(value ^ (value >>> 13), 0xc2b2ae35);
  return ((value ^ (value >>> 16)) >>> 0).toString(16).padStart(8, "0");
}
