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
  /** Milliseconds. */
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

/** Uses no timers: expired entries are removed when they are read, or when room is needed. */
export function createMemoryStore(options: MemoryStoreOptions): Store {
  const { maxEntries, maxBytes, now } = options;
  const entries = new Map<string, Entry>();
  const owners = new Map<string, Owner>();
  let bytes = 0;

  function remove(key: string): Entry | undefined {
    const entry = entries.get(key);
    if (entry === undefined) return undefined;
    const { owner } = entry;
    entries.delete(key);
    owner.keys.delete(key);
    owner.bytes -= entry.bytes;
    bytes -= entry.bytes;
    if (owner.keys.size === 0) owners.delete(owner.tenant);
    return entry;
  }

  function put(key: string, entry: Entry): void {
    const { owner } = entry;
    owners.set(owner.tenant, owner);
    entries.set(key, entry);
    owner.keys.add(key);
    owner.bytes += entry.bytes;
    bytes += entry.bytes;
  }

  function ownerOf(tenant: string): Owner {
    return owners.get(tenant) ?? { tenant, keys: new Set(), bytes: 0 };
  }

  /** Evicts the least recently used entries of `owner` until `isEnough`. */
  function dropOldest(owner: Owner, isEnough: () => boolean): void {
    for (const oldest of owner.keys) {
      if (isEnough()) return;
      remove(oldest);
    }
  }

  function quotaOf(tenant: string): { readonly maxEntries: number; readonly maxBytes: number } {
    const quota = options.quotaOf?.(tenant);
    return {
      maxEntries: Math.min(maxEntries, quota?.maxEntries ?? maxEntries),
      maxBytes: Math.min(maxBytes, quota?.maxBytes ?? maxBytes),
    };
  }

  /** Whether an entry of this size would stay after all tenants with more bytes have been evicted from. */
  function hasRoom(tenant: string, size: number): boolean {
    if (size > quotaOf(tenant).maxBytes) return false;
    if (bytes + size <= maxBytes) return true;
    let least = size;
    for (const owner of owners.values()) {
      if (owner.tenant !== tenant) least += Math.min(owner.bytes, size);
    }
    return least <= maxBytes;
  }

  function isFull(): boolean {
    return entries.size > maxEntries || bytes > maxBytes;
  }

  function makeRoom(writer: Owner): void {
    const own = quotaOf(writer.tenant);
    dropOldest(writer, () => writer.keys.size <= own.maxEntries && writer.bytes <= own.maxBytes);
    while (isFull()) {
      const owner = largest(writer, (each) => (bytes > maxBytes ? each.bytes : each.keys.size));
      const before = owner.keys.size;
      dropOldest(owner, () => owner.keys.size < before);
    }
  }

  /**
   * Prefers another tenant to the writer if both hold as much, so that the new entry stays. There are few
   * tenants: those with keys.
   */
  function largest(writer: Owner, measure: (owner: Owner) => number): Owner {
    let most = writer;
    for (const owner of owners.values()) {
      const isMore = measure(owner) > measure(most);
      if (isMore || (most === writer && measure(owner) === measure(most))) most = owner;
    }
    return most;
  }

  return {
    async get(key) {
      const entry = remove(key);
      if (entry === undefined || entry.until < now()) return undefined;
      put(key, entry);
      return entry.value;
    },
    async set(key, value, ttlSeconds, tenant) {
      // Checked first, since a text has at least one byte per code unit.
      if (value.length > maxBytes) return false;
      const size = byteLength(key) + byteLength(value);
      if (!hasRoom(tenant, size)) return false;
      remove(key);
      const owner = ownerOf(tenant);
      put(key, { owner, value, bytes: size, until: now() + ttlSeconds * 1000 });
      makeRoom(owner);
      return true;
    },
    async delete(key) {
      remove(key);
    },
  };
}
