/**
 * Which backend a conversation belongs to, without keeping a table: rendezvous hashing. Each backend gets a
 * score for the key, and the ranking by score is the order of preference. When a backend goes, only
 * its own conversations move; when one comes, it takes an equal share from all.
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

/** FNV-1a, its bits mixed by Murmur's finaliser: similar keys must not get similar scores. */
function hash(text: string): number {
  let h = 0x811c9dc5;
  for (let i = 0; i < text.length; i += 1) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}
