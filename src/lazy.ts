/** Values that are created with their first use: at all, for a key, or in a process. */

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

/**
 * What a process knows beyond one request: random keys, slots and limits in use, background work, counters. It belongs to the process
 * and outlives the settings, which a reload replaces. Each module has its own part of it; see {@link partOf}.
 */
export class ProcessState {
  /** For the compiler, to which any object would be one otherwise. */
  readonly type = "process";
}

/** A module's part of the state of a process: the same one for all generations of settings. Of no process: a new one. */
export function partOf<T>(create: () => T): (state: ProcessState | undefined) => T {
  const parts = new WeakMap<ProcessState, { readonly part: T }>();
  return (state) => {
    if (state === undefined) return create();
    const known = parts.get(state);
    if (known !== undefined) return known.part;
    const part = create();
    parts.set(state, { part });
    return part;
  };
}
