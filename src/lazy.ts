/** Values that are created on first use: once, by key, or by process. */

/**
 * Computes a value on first use and caches it.
 *
 * Used mostly for parts of schemas: building all of them took half of a Worker's start-up, and one request needs only a few.
 * Whole schemas use `z.lazy`, whose parse methods callers use as with any other schema.
 */
export function lazy<T>(create: () => T): () => T {
  let cached: { readonly value: T } | undefined;
  return () => (cached ??= { value: create() }).value;
}

/** The value of a key, created on first use. */
export function getOrCreate<K, V>(map: Map<K, V>, key: K, create: () => V): V {
  const existing = map.get(key);
  if (existing !== undefined) return existing;
  const created = create();
  map.set(key, created);
  return created;
}

/**
 * State of a process beyond one request: random keys, slots and limits in use, background work, counters. It belongs to the
 * process and outlives the settings, which a reload replaces. Each module has a separate part; see {@link partOf}.
 */
export class ProcessState {
  /** A mark for the compiler, which would accept any object otherwise. */
  readonly type = "process";
}

/** A module's part of the state of a process: one for all generations of settings. Without a process: a new one. */
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
