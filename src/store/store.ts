/** State kept between requests: chain of thought for clients that do not send it back, stored responses, conversations. */

export interface Store {
  /** Undefined: there is no such entry, or it has expired. Rejects if the store fails. */
  get(key: string): Promise<string | undefined>;
  /**
   * Stores an entry, which expires after `ttlSeconds`, or earlier if the store is full. Returns false if the value is too large;
   * the previous value is then unchanged. The entry counts against the quota of `tenant`, in stores with quotas.
   */
  set(key: string, value: string, ttlSeconds: number, tenant: string): Promise<boolean>;
  delete(key: string): Promise<void>;
  /**
   * The existing entries, by their keys, at the cost of a few reads. Absent: reading many at once is no cheaper.
   */
  getMany?(keys: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /** Maximum delay until reads see writes from elsewhere, in milliseconds. Absent: no delay. */
  readonly staleMs?: number;
  /** A sentence about a problem that will lose entries although operations succeed. Undefined: there is no problem. */
  readonly problem?: () => string | undefined;
  /** Timeout of an operation if the settings have none. Absent: half a second. */
  readonly timeoutMs?: number;
  /** Maximum wait of a write for an earlier one of the same key, in milliseconds. Absent: no wait. */
  readonly writeWaitMs?: number;
  /**
   * Minimum time between repeated reads and writes of one task, in milliseconds, because the platform counts and limits them.
   * Absent: no minimum.
   */
  readonly paceMs?: number;
}

/** The existing entries, by their keys. */
export async function readMany(
  store: Pick<Store, "get" | "getMany">,
  keys: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  if (store.getMany !== undefined) return store.getMany(keys);
  const values = await Promise.all(keys.map((key) => store.get(key)));
  return new Map(
    keys.flatMap((key, at) => {
      const value = values[at];
      return value === undefined ? [] : [[key, value] as const];
    }),
  );
}

/** Result for an entry that is not text, or not stored under its key. No kind of entry accepts it. */
export const UNREADABLE = "";

const encoder = new TextEncoder();

/** Length of a text in UTF-8 bytes. */
export function byteLength(text: string): number {
  return encoder.encode(text).length;
}

/**
 * A key that is unique to its owner for any parts: ids come from clients and may be any text of any length. `kind` names the sort
 * of entry and stays readable; the rest is hashed, so that a store reveals no tenants.
 */
export async function storeKey(kind: string, ...parts: readonly string[]): Promise<string> {
  const text = JSON.stringify(parts);
  const digest = await crypto.subtle.digest("SHA-256", encoder.encode(text));
  const hex = Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0"));
  return `${kind}:${hex.join("")}`;
}
