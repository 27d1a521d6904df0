/**
 * The rule by which tenants share a store of limited size: when it is full, the tenant with the most loses its least recently
 * used entries. So a tenant below its fair share (the store divided by the tenants in it) never loses an entry to another, and
 * a single tenant may use the whole store.
 */

/** Entries and bytes of one tenant. */
export interface Share {
  readonly tenant: string;
  readonly entries: number;
  readonly bytes: number;
}

export interface StoreQuota {
  readonly maxEntries?: number | undefined;
  readonly maxBytes?: number | undefined;
}

export interface StoreLimits {
  readonly maxEntries: number;
  /** Maximum bytes of keys and values together, in UTF-8. A larger entry is not stored. */
  readonly maxBytes: number;
}

/** The limits of one tenant: those of the store, or the tenant's own lower ones. */
export function limitsOf({ maxEntries, maxBytes }: StoreLimits, quota?: StoreQuota): StoreLimits {
  return {
    maxEntries: Math.min(maxEntries, quota?.maxEntries ?? maxEntries),
    maxBytes: Math.min(maxBytes, quota?.maxBytes ?? maxBytes),
  };
}

/** Maximum amount of each tenant so that all together have at most `limit`: only the largest are reduced. */
export function fairLevel(amounts: readonly number[], limit: number): number {
  let left = limit;
  const sorted = amounts.toSorted((a, b) => a - b);
  for (const [at, amount] of sorted.entries()) {
    const share = left / (sorted.length - at);
    if (amount > share) return share;
    left -= amount;
  }
  return limit;
}

/** Whether an entry of this size would stay after eviction from all tenants with more bytes. */
export function hasRoom(
  shares: Iterable<Share>,
  { tenant, size }: { readonly tenant: string; readonly size: number },
  maxBytes: number,
): boolean {
  let least = size;
  for (const share of shares) {
    if (share.tenant !== tenant) least += Math.min(share.bytes, size);
  }
  return least <= maxBytes;
}

/**
 * The tenant that loses an entry next. If the writer and another tenant have equal shares, the other one is chosen, so that the
 * new entry stays. There are few tenants: only keys.
 */
export function largestShare<T extends Share>(
  shares: Iterable<T>,
  writer: T,
  measure: "bytes" | "entries",
): T {
  let most = writer;
  for (const share of shares) {
    const isMore = share[measure] > most[measure];
    if (isMore || (most === writer && share[measure] === most[measure])) most = share;
  }
  return most;
}
