/**
 * A store that fails open: when it is down, slow or full, it behaves as if it were empty. For data that no client relies
 * on, such as chain of thought kept for clients that do not send it back.
 */
import type { GuardedStore } from "./guarded-store.ts";
import type { Store } from "./store.ts";

/** Never rejects. The guarded store has already reported the failure. */
export function createForgivingStore(store: GuardedStore): Store {
  return {
    get: (key) => store.get(key).catch(() => undefined),
    set: (key, value, ttlSeconds, tenant) =>
      store.set(key, value, ttlSeconds, tenant).catch(() => false),
    delete: (key) => store.delete(key).catch(() => {}),
    ...(store.getMany !== undefined && {
      getMany: async (keys) => (await store.getMany?.(keys).catch(() => undefined)) ?? new Map(),
    }),
  };
}
