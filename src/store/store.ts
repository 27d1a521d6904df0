/**
 * What must outlive a request: chain of thought for clients that forget it, and stored responses.
 *
 * Nothing that matters for correctness is kept here: a store is bounded, entries expire, and whoever asks
 * must be able to go on without an answer.
 */

export interface Store {
  /** Undefined when there is no such entry, or no longer. */
  get(key: string): Promise<string | undefined>;
  /** Entries leave after `ttlSeconds`, or earlier where the store is full. */
  set(key: string, value: string, ttlSeconds: number): Promise<void>;
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
