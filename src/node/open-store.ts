/** Opens the configured store on Node: in memory, or Redis. */
import { SettingsError } from "../config/resolve.ts";
import type { Settings } from "../config/settings.ts";
import { maxEntryBytes, toMemoryStore } from "../store/reasoning.ts";
import type { Store } from "../store/store.ts";

export interface OpenStore {
  readonly store: Store;
  /** Waits briefly for pending operations. */
  close(): Promise<void>;
}

/**
 * Redis need not be reachable yet.
 * @throws SettingsError
 */
export async function openStore(settings: Settings): Promise<OpenStore> {
  if (settings.store === "memory") {
    return { store: toMemoryStore(settings), close: async () => {} };
  }
  if (settings.store.startsWith("kv:")) {
    throw new SettingsError(["store kv: is available on Workers only. On Node, use Redis."]);
  }
  const { openRedisStore } = await import("./redis/redis-store.ts");
  const store = openRedisStore(settings.store, {
    timeoutMs: settings.storeTimeoutMs,
    maxValueBytes: maxEntryBytes(settings),
  });
  return { store, close: () => store.close() };
}
