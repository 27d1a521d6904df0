/** State kept between requests: chain of thought for clients that forget it, stored responses, conversations. */

export interface Store {
  /** Undefined when there is no such entry, or no longer. Rejects when the store fails. */
  get(key: string): Promise<string | undefined>;
  /**
   * Entries leave after `ttlSeconds`, or earlier where the store is full. False: the value is too large to be kept, and
   * the earlier value is unchanged. The entry counts against the quota of `tenant`, in stores that have quotas.
   */
  set(key: string, value: string, ttlSeconds: number, tenant: string): Promise<boolean>;
  delete(key: string): Promise<void>;
}

/**
 * A key that no two owners share, whatever the parts hold: ids come from clients and may be any text of any length.
 * `kind` names what is kept and stays readable; the rest is hashed, so that a store shows no tenants.
 */
export async function storeKey(kind: string, ...parts: readonly string[]): Promise<string> {
  const text = JSON.stringify(parts);
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  const hex = Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0"));
  return `${kind}:${hex.join("")}`;
}
