/**
 * The default store: this process's memory, bounded by entries and bytes.
 *
 * When it is full, the tenant with the most bytes loses its least recently used entries. So a tenant below its fair share
 * (the store divided by the tenants in it) never loses an entry to another, and a single tenant may use the whole store.
 */
import { byteLength } from "./byte-length.ts";
import type { Store } from "./store.ts";

export interface MemoryStoreOptions {
  readonly maxEntries: number;
  /** Keys and values together, in UTF-8. An entry larger than this is not kept. */
  readonly maxBytes: number;
  /** The maximum a tenant may hold, even if there is room. Absent: unlimited. */
  readonly quotaOf?: (tenant: string) => StoreQuota;
  /** Milliseconds, of a monotonic clock: entries must not expire because the system's clock is set. */
  readonly now: () => number;
}

export interface StoreQuota {
  readonly maxEntries?: number | undefined;
  readonly maxBytes?: number | undefined;
}

interface Entry {
  readonly owner: Owner;
  readonly value: string;
  readonly bytes: number;
  /** The last millisecond, by `now`, at which the entry is valid. */
  readonly until: number;
}

/** The entries of one tenant. */
interface Owner {
  readonly tenant: string;
  /** In order of last use: a Map keeps insertion order, and an entry is reinserted when it is read. */
  readonly keys: Set<string>;
  bytes: number;
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

/** Uses no timers: expired entries are removed when they are read, or when room is needed. */
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

  /** False: it does not fit, and a previous value is unchanged. */
  set(key: string, value: string, ttlSeconds: number, tenant: string): boolean {
    // Checked first, since a text has at least one byte per code unit.
    if (value.length > this.#options.maxBytes) return false;
    const size = byteLength(key) + byteLength(value);
    if (!this.#hasRoom(tenant, size)) return false;
    this.remove(key);
    const owner = this.#owners.get(tenant) ?? { tenant, keys: new Set(), bytes: 0 };
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

  #quotaOf(tenant: string): { readonly maxEntries: number; readonly maxBytes: number } {
    const { maxEntries, maxBytes } = this.#options;
    const quota = this.#options.quotaOf?.(tenant);
    return {
      maxEntries: Math.min(maxEntries, quota?.maxEntries ?? maxEntries),
      maxBytes: Math.min(maxBytes, quota?.maxBytes ?? maxBytes),
    };
  }

  /** Whether an entry of this size would stay after all tenants with more bytes have been evicted from. */
  #hasRoom(tenant: string, size: number): boolean {
    const { maxBytes } = this.#options;
    if (size > this.#quotaOf(tenant).maxBytes) return false;
    if (this.#bytes + size <= maxBytes) return true;
    let least = size;
    for (const owner of this.#owners.values()) {
      if (owner.tenant !== tenant) least += Math.min(owner.bytes, size);
    }
    return least <= maxBytes;
  }

  #makeRoom(writer: Owner): void {
    const { maxEntries, maxBytes } = this.#options;
    const own = this.#quotaOf(writer.tenant);
    this.#evict(writer, () => writer.keys.size <= own.maxEntries && writer.bytes <= own.maxBytes);
    while (this.#entries.size > maxEntries || this.#bytes > maxBytes) {
      const overBytes = this.#bytes > maxBytes;
      const owner = this.#largest(writer, (each) => (overBytes ? each.bytes : each.keys.size));
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

  /**
   * Prefers another tenant to the writer if both hold as much, so that the new entry stays. There are few
   * tenants: those with keys.
   */
  #largest(writer: Owner, measure: (owner: Owner) => number): Owner {
    let most = writer;
    for (const owner of this.#owners.values()) {
      const isMore = measure(owner) > measure(most);
      if (isMore || (most === writer && measure(owner) === measure(most))) most = owner;
    }
    return most;
  }
}
