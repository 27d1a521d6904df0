/** Values that are created with their first use. */

/**
 * Computes a value on first use and caches it.
 *
 * Used mostly for parts of schemas: building all of them took half of a Worker's start-up, and one request needs only a
 * few. Whole schemas use `z.lazy`, which callers parse with as with any other schema.
 */
export function lazy<T>(create: () => T): () => T {
  let cached: { readonly value: T } | undefined;
  return () => (cached ??= { value: create() }).value;
}

/** The value of a key, which is created with its first use. */
export function getOrCreate<K, V>(map: Map<K, V>, key: K, create: () => V): V {
  const existing = map.get(key);
  if (existing !== undefined) return existing;
  const created = create();
  map.set(key, created);
  return created;
}
