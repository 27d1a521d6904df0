/** State kept between requests: chain of thought for clients that forget it, stored responses, conversations. */

export interface Store {
  /** Undefined if there is no such entry, or it has expired. Rejects if the store fails. */
  get(key: string): Promise<string | undefined>;
  /**
   * Entries expire after `ttlSeconds`, or earlier if the store is full. Returns false if the value is too
   * large; the previous value is then unchanged. The entry counts against the quota of `tenant`, in stores
   * that have quotas.
   */
  set(key: string, value: string, ttlSeconds: number, tenant: string): Promise<boolean>;
  delete(key: string): Promise<void>;
  /**
   * The entries that exist, by their keys: all of them for the price of a few reads. Absent: nothing is saved by asking for
   * many at once.
   */
  getMany?(keys: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /** How long reads may miss what was written elsewhere, in milliseconds. Absent: they do not. */
  readonly staleMs?: number;
  /** A sentence about a state in which operations succeed and entries will be lost. Undefined: it is in no such state. */
  readonly problem?: () => string | undefined;
  /** How long an answer may take where the settings do not say. Absent: half a second. */
  readonly timeoutMs?: number;
  /** How long a write may have to wait for an earlier one of the same key, in milliseconds. Absent: not at all. */
  readonly writeWaitMs?: number;
  /**
   * How far apart the repeated reads and writes of one piece of work should be, in milliseconds, because the platform counts
   * and limits them. Absent: as close as they are useful.
   */
  readonly paceMs?: number;
}

/** The entries that exist, by their keys. */
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

/** What a store returns for an entry that is not text, or not what was stored under its key. No kind of entry accepts it. */
export const UNREADABLE = "";

/**
 * A key that no two owners share, whatever the parts contain: ids come from clients and may be any text of
 * any length. `kind` names the sort of entry and stays readable; the rest is hashed, so that a store reveals
 * no tenants.
 */
export async function storeKey(kind: string, ...parts: readonly string[]): Promise<string> {
  const text = JSON.stringify(parts);
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  const hex = Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0"));
  return `${kind}:${hex.join("")}`;
}
