/**
 * A store that fails open: down, slow or full, it answers as if it were empty. For what is worth keeping but was promised
 * to nobody, such as the chain of thought of forgetful clients.
 */
import type { GuardedStore } from "./guarded-store.ts";
import type { Store } from "./store.ts";

/** Never rejects. The guard has reported the failure already. */
export function createForgivingStore(store: GuardedStore): Store {
  return {
    get: (key) => store.get(key).catch(() => undefined),
    set: (key, value, ttlSeconds, tenant) =>
      store.set(key, value, ttlSeconds, tenant).catch(() => false),
    delete: (key) => store.delete(key).catch(() => {}),
  };
}
