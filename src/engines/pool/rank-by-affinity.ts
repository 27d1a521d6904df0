/**
 * Assigns conversations to backends without a table, by rendezvous hashing: each backend gets a score for the key, and
 * the highest score is preferred. When a backend is removed, only its own conversations move; a new one takes an equal
 * share from all.
 */

/** `items` from most to least preferred for `key`. The same for every replica of the gateway. */
export function rankByAffinity<T extends { readonly id: string }>(
  key: string,
  items: readonly T[],
): T[] {
  return items
    .map((item) => ({ item, score: hash(`${item.id}\n${key}`) }))
    .toSorted((a, b) => b.score - a.score || (a.item.id < b.item.id ? -1 : 1))
    .map(({ item }) => item);
}

/** FNV-1a with Murmur's finaliser, so that similar keys do not get similar scores. */
function hash(text: string): number {
  let h = 0x811c9dc5;
  for (let i = 0; i < text.length; i += 1) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}
