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
  /** How long reads may miss what was written elsewhere, in milliseconds. Absent: they do not. */
  readonly staleMs?: number;
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
