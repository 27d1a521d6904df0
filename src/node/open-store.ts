/** Opens the configured store on Node: in memory, or Redis. */
import { SettingsError } from "../config/resolve.ts";
import type { Settings } from "../config/settings.ts";
import { createDriverStore } from "../store/driver-store.ts";
import { toMemoryStore } from "../store/reasoning.ts";
import type { Store } from "../store/store.ts";
import { describeConnectionFailure } from "../engines/transport.ts";
import { isMissing, toInstallCommand } from "./install-hint.ts";

export interface OpenStore {
  readonly store: Store;
  /** Waits briefly for pending writes. */
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
  return openRedis(settings.store, settings.storeTimeoutMs);
}

/** Keys begin with `harmony-gateway:`. Redis removes entries when they expire. */
async function openRedis(url: string, timeoutMs: number): Promise<OpenStore> {
  const redisDriver = await importDriver();
  const driver = redisDriver({
    url,
    base: "harmony-gateway",
    preConnect: true,
    connectTimeout: timeoutMs,
    // A command that cannot be sent waits for the connection until its timeout.
    commandTimeout: timeoutMs,
    maxRetriesPerRequest: 1,
    retryStrategy: (attempt: number) => Math.min(attempt * 100, 2000),
  });
  const client = driver.getInstance?.();
  // Without a listener ioredis prints every lost connection. Commands fail too, and those failures are reported.
  let lost: unknown;
  client?.on("error", (error: unknown) => (lost = error));
  client?.on("ready", () => (lost = undefined));
  return {
    store: withReason(createDriverStore(driver), () =>
      lost === undefined ? undefined : new Error(explainLost(url, lost), { cause: lost }),
    ),
    async close() {
      let timer: ReturnType<typeof setTimeout> | undefined;
      const late = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, timeoutMs);
      });
      // Redis answers QUIT after all commands before it. A lost connection has been reported already.
      const quit = Promise.resolve(client?.quit()).catch(() => {});
      await Promise.race([quit, late]);
      clearTimeout(timer);
      client?.disconnect();
    },
  };
}

/** While there is no connection, operations fail with the reason for that: ioredis says how often it has tried. */
function withReason(store: Store, reason: () => Error | undefined): Store {
  const explain = (error: unknown): never => {
    throw reason() ?? error;
  };
  return {
    get: (key) => store.get(key).catch(explain),
    set: (...entry) => store.set(...entry).catch(explain),
    delete: (key) => store.delete(key).catch(explain),
  };
}

/** Without the URL's credentials. */
function explainLost(url: string, error: unknown): string {
  const { protocol, host } = new URL(url);
  return `Cannot reach Redis at ${protocol}//${host} (${describeConnectionFailure(error)}). Check that it is running and that the setting store is right.`;
}

/** ioredis is an optional peer dependency, needed only with Redis. */
async function importDriver() {
  try {
    return (await import("unstorage/drivers/redis")).default;
  } catch (error) {
    if (!isMissing(error, "ioredis")) throw error;
    throw new SettingsError([
      `store redis: the package ioredis is not installed. Run: ${toInstallCommand("ioredis")}`,
    ]);
  }
}
