/** The default store: this process's memory, bounded by entries and bytes, and shared by the rule in `fair-share.ts`. */
import {
  hasRoom,
  largestShare,
  limitsOf,
  type StoreLimits,
  type StoreQuota,
} from "./fair-share.ts";
import { byteLength, type Store } from "./store.ts";

export interface MemoryStoreOptions extends StoreLimits {
  /** The maximum of a tenant, even if there is room. Absent: unlimited. */
  readonly quotaOf?: (tenant: string) => StoreQuota;
  /** Milliseconds of a monotonic clock: setting the system's clock must not expire entries. */
  readonly now: () => number;
}

interface Entry {
  readonly owner: Owner;
  readonly value: string;
  readonly bytes: number;
  /** The last millisecond, by `now`, at which the entry is valid. */
  readonly until: number;
}

/** The entries of one tenant. */
class Owner {
  readonly tenant: string;
  /** Keys in order of last use: a Set keeps insertion order, and a key is reinserted when its entry is read. */
  readonly keys = new Set<string>();
  bytes = 0;

  constructor(tenant: string) {
    this.tenant = tenant;
  }

  get entries(): number {
    return this.keys.size;
  }
}

/**
 * @example
 * ```ts
 * import { createMemoryStore } from "harmony-gateway";
 *
 * const store = createMemoryStore({ maxEntries: 100, maxBytes: 1_000_000, now: Date.now });
 * await store.set("key", "value", 60, "alice");
 * await store.get("key"); // => "value"
 * ```
 */
export function createMemoryStore(options: MemoryStoreOptions): Store {
  const memory = new Memory(options);
  return {
    get: async (key) => memory.get(key),
    set: async (key, value, ttlSeconds, tenant) => memory.set(key, value, ttlSeconds, tenant),
    async delete(key) {
      memory.remove(key);
    },
  };
}

/** A store without timers: expired entries are removed when they are read, or when room is needed. */
class Memory {
  readonly #options: MemoryStoreOptions;
  readonly #entries = new Map<string, Entry>();
  readonly #owners = new Map<string, Owner>();
  #bytes = 0;

  constructor(options: MemoryStoreOptions) {
    this.#options = options;
  }

  get(key: string): string | undefined {
    const entry = this.remove(key);
    if (entry === undefined || entry.until < this.#options.now()) return undefined;
    this.#put(key, entry);
    return entry.value;
  }

  /** Stores an entry. False: the entry does not fit, and a previous value is unchanged. */
  set(key: string, value: string, ttlSeconds: number, tenant: string): boolean {
    // The cheap check comes first: a text has at least one byte per code unit.
    if (value.length > this.#options.maxBytes) return false;
    const size = byteLength(key) + byteLength(value);
    if (!this.#hasRoom(tenant, size)) return false;
    this.remove(key);
    const owner = this.#owners.get(tenant) ?? new Owner(tenant);
    const until = this.#options.now() + ttlSeconds * 1000;
    this.#put(key, { owner, value, bytes: size, until });
    this.#makeRoom(owner);
    return true;
  }

  remove(key: string): Entry | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    const { owner } = entry;
    this.#entries.delete(key);
    owner.keys.delete(key);
    owner.bytes -= entry.bytes;
    this.#bytes -= entry.bytes;
    if (owner.keys.size === 0) this.#owners.delete(owner.tenant);
    return entry;
  }

  #put(key: string, entry: Entry): void {
    const { owner } = entry;
    this.#owners.set(owner.tenant, owner);
    this.#entries.set(key, entry);
    owner.keys.add(key);
    owner.bytes += entry.bytes;
    this.#bytes += entry.bytes;
  }

  #limitsOf(tenant: string): StoreLimits {
    return limitsOf(this.#options, this.#options.quotaOf?.(tenant));
  }

  #hasRoom(tenant: string, size: number): boolean {
    const { maxBytes } = this.#options;
    if (size > this.#limitsOf(tenant).maxBytes) return false;
    if (this.#bytes + size <= maxBytes) return true;
    return hasRoom(this.#owners.values(), { tenant, size }, maxBytes);
  }

  #makeRoom(writer: Owner): void {
    const { maxEntries, maxBytes } = this.#options;
    const own = this.#limitsOf(writer.tenant);
    this.#evict(writer, () => writer.keys.size <= own.maxEntries && writer.bytes <= own.maxBytes);
    while (this.#entries.size > maxEntries || this.#bytes > maxBytes) {
      const measure = this.#bytes > maxBytes ? "bytes" : "entries";
      const owner = largestShare(this.#owners.values(), writer, measure);
      const before = owner.keys.size;
      this.#evict(owner, () => owner.keys.size < before);
    }
  }

  /** Evicts the least recently used entries of `owner` until `isEnough`. */
  #evict(owner: Owner, isEnough: () => boolean): void {
    for (const oldest of owner.keys) {
      if (isEnough()) return;
      this.remove(oldest);
    }
  }
}
