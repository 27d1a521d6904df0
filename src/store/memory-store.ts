/** The default store: this process's memory, bounded by entries and bytes. What was used longest ago leaves first. */
import lruCacheDriver from "unstorage/drivers/lru-cache";
import { createDriverStore } from "./driver-store.ts";
import type { Store } from "./store.ts";

export interface MemoryStoreOptions {
  readonly maxEntries: number;
  /** Keys and values together. An entry larger than this is not kept. */
  readonly maxBytes: number;
  /** Milliseconds. */
  readonly now: () => number;
}

export function createMemoryStore(options: MemoryStoreOptions): Store {
  const driver = lruCacheDriver({
    max: options.maxEntries,
    maxSize: options.maxBytes,
    perf: { now: options.now },
    // Otherwise a timer tells the cache that time has passed, and Workers drop timers with their request.
    ttlResolution: 0,
  });
  const cache = driver.getInstance?.();
  return createDriverStore({
    ...driver,
    // The driver's own takes no TTL.
    setItem: (key, value, { ttl }) => void cache?.set(key, value, { ttl: ttl * 1000 }),
  });
}
