/** The default store: this process's memory, bounded by entries and bytes. What was used longest ago leaves first. */
import type { Store } from "./store.ts";

export interface MemoryStoreOptions {
  readonly maxEntries: number;
  /** Keys and values together, in UTF-8. An entry larger than this is not kept. */
  readonly maxBytes: number;
  /** Milliseconds. */
  readonly now: () => number;
}

interface Entry {
  readonly value: string;
  readonly bytes: number;
  /** Of `now`, the last moment at which it is there. */
  readonly until: number;
}

/** No timers: entries whose time is over leave when they are asked for, or when their turn to make room comes. */
export function createMemoryStore({ maxEntries, maxBytes, now }: MemoryStoreOptions): Store {
  // A Map keeps its keys in the order they came: what is used is put behind all others.
  const entries = new Map<string, Entry>();
  const encoder = new TextEncoder();
  let bytes = 0;

  function take(key: string): Entry | undefined {
    const entry = entries.get(key);
    if (entry === undefined) return undefined;
    entries.delete(key);
    bytes -= entry.bytes;
    return entry;
  }

  function put(key: string, entry: Entry): void {
    entries.set(key, entry);
    bytes += entry.bytes;
  }

  return {
    async get(key) {
      const entry = take(key);
      if (entry === undefined || entry.until < now()) return undefined;
      put(key, entry);
      return entry.value;
    },
    async set(key, value, ttlSeconds) {
      take(key);
      const size = encoder.encode(key).length + encoder.encode(value).length;
      if (size > maxBytes) return;
      put(key, { value, bytes: size, until: now() + ttlSeconds * 1000 });
      for (const oldest of entries.keys()) {
        if (entries.size <= maxEntries && bytes <= maxBytes) return;
        take(oldest);
      }
    },
    async delete(key) {
      take(key);
    },
  };
}
