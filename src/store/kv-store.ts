/**
 * Cloudflare's KV as a store, for Workers.
 *
 * KV is eventually consistent: another location may see an entry up to a minute late, so a loop whose requests move
 * between locations can miss what was kept. Entries live for a minute at least, whatever their TTL.
 */
import kvDriver from "unstorage/drivers/cloudflare-kv-binding";
import { createDriverStore } from "./driver-store.ts";
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

export function createKvStore(namespace: KvNamespace): Store {
  return createDriverStore(kvDriver({ binding: namespace }));
}
