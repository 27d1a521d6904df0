/** The store the settings name, on Node: this process's memory, or Redis. */
import { SettingsError } from "../config/resolve.ts";
import type { Settings } from "../config/settings.ts";
import { createDriverStore } from "../store/driver-store.ts";
import { toMemoryStore } from "../store/reasoning.ts";
import type { Store } from "../store/store.ts";

export interface OpenStore {
  readonly store: Store;
  /** Waits for what is being written, but not long. */
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
    throw new SettingsError(["store kv: is there on Workers only; on Node, use Redis."]);
  }
  return openRedis(settings.store, settings.storeTimeoutMs);
}

/** Entries stand under `harmony-gateway:`, and Redis removes them when their time is over. */
async function openRedis(url: string, timeoutMs: number): Promise<OpenStore> {
  const redisDriver = await importDriver();
  const driver = redisDriver({
    url,
    base: "harmony-gateway",
    preConnect: true,
    connectTimeout: timeoutMs,
    // A command that cannot be sent waits for the connection, for as long as one may wait at all.
    commandTimeout: timeoutMs,
    maxRetriesPerRequest: 1,
    retryStrategy: (attempt: number) => Math.min(attempt * 100, 2000),
  });
  const client = driver.getInstance?.();
  // Without a listener every lost connection is printed. Commands fail too, and that is what is reported.
  client?.on("error", () => {});
  return {
    store: createDriverStore(driver),
    async close() {
      let timer: ReturnType<typeof setTimeout> | undefined;
      const late = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, timeoutMs);
      });
      // Redis answers QUIT after everything before it. Lost connections are nothing new here.
      const quit = Promise.resolve(client?.quit()).catch(() => {});
      await Promise.race([quit, late]);
      clearTimeout(timer);
      client?.disconnect();
    },
  };
}

/** ioredis is an optional peer: only those who use Redis install it. */
async function importDriver() {
  try {
    return (await import("unstorage/drivers/redis")).default;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ERR_MODULE_NOT_FOUND") {
      throw new SettingsError(["store redis: needs the package ioredis; npm install ioredis."]);
    }
    throw error;
  }
}
