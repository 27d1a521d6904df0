/**
 * Cloudflare's KV as a store, for Workers.
 *
 * KV is eventually consistent: another location may see an entry up to a minute late, so a loop whose requests move
 * between locations can miss what was kept. Entries live for a minute at least, whatever their TTL.
 */
import type { Store } from "./store.ts";

/** The part of a KV namespace that is used. */
export interface KvNamespace {
  get(key: string): Promise<string | null>;
  put(key: string, value: string, options?: { expirationTtl?: number }): Promise<void>;
  delete(key: string): Promise<void>;
}

export function isKvNamespace(value: unknown): value is KvNamespace {
  return (
    typeof value === "object" &&
    value !== null &&
    ["get", "put", "delete"].every((name) => {
      return typeof Reflect.get(value, name) === "function";
    })
  );
}

/** KV refuses less. */
const SHORTEST_TTL_SECONDS = 60;

export function createKvStore(namespace: KvNamespace): Store {
  return {
    get: async (key) => (await namespace.get(key)) ?? undefined,
    async set(key, value, ttlSeconds) {
      const expirationTtl = Math.max(ttlSeconds, SHORTEST_TTL_SECONDS);
      await namespace.put(key, value, { expirationTtl });
      return true;
    },
    delete: (key) => namespace.delete(key),
  };
}
