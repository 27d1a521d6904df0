/** A keyed hash for text that must not be logged. Equal texts have equal hashes; nothing else can be learned from it. */

/** A secret of this process, so that texts cannot be guessed by hashing them. Created late: Workers allow no randomness at start-up. */
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
