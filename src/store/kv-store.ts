/**
 * Cloudflare's KV as a store, for Workers.
 *
 * KV is eventually consistent: another location may see an entry up to a minute late, so a loop whose requests move
 * between locations can miss what was kept. Entries live for a minute at least, whatever their TTL.
 */
import { StoreRefusal } from "./store-error.ts";
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
/** Each location caches what it has read, misses included. */
const CACHE_MS = 60_000;

/**
 * @example
 * ```ts
 * import { createKvStore } from "harmony-gateway";
 *
 * const values = new Map<string, string>();
 * const store = createKvStore({
 *   get: async (key) => values.get(key) ?? null,
 *   put: async (key, value) => void values.set(key, value),
 *   delete: async (key) => void values.delete(key),
 * });
 * await store.set("key", "value", 60, "alice");
 * await store.get("key"); // => "value"
 * ```
 */
export function createKvStore(namespace: KvNamespace): Store {
  return {
    staleMs: CACHE_MS,
    get: async (key) => (await answered(() => namespace.get(key))) ?? undefined,
    async set(key, value, ttlSeconds) {
      const expirationTtl = Math.max(ttlSeconds, SHORTEST_TTL_SECONDS);
      await answered(() => namespace.put(key, value, { expirationTtl }));
      return true;
    },
    delete: (key) => answered(() => namespace.delete(key)),
  };
}

/** One key is written too often, or one invocation has used up its operations: no outage for others. */
async function answered<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    const { message } = error instanceof Error ? error : new Error("");
    const code = /^KV \w+ failed: (4\d\d)\b/.exec(message)?.[1] ?? /^Too many/.exec(message)?.[0];
    if (code === undefined) throw error;
    throw new StoreRefusal(code, `KV answered: ${code}.`, error);
  }
}
