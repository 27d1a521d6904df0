/** Opens the configured store on Node: in memory, in a file, in Redis or in PostgreSQL. */
import { SettingsError } from "../config/resolve.ts";
import type { Settings } from "../config/settings.ts";
import {
  DEFAULT_TIMEOUT_MS,
  maxEntryBytes,
  toMemoryStore,
  toStoreBounds,
} from "../store/reasoning.ts";
import type { Store } from "../store/store.ts";
import type { Log } from "../telemetry/log.ts";
import type { SqliteStore, SqliteStoreOptions } from "./sqlite/sqlite-store.ts";

export interface OpenStore {
  readonly store: Store;
  /** The same store if it is in a file. */
  readonly file?: SqliteStore;
  /** Waits briefly for pending operations. */
  close(): Promise<void>;
}

/**
 * A server need not be reachable yet. A file must be usable.
 * @param log takes a warning when the file is deleted or replaced while it is open.
 * @throws SettingsError, StoreBusyError
 */
export async function openStore(settings: Settings, log?: Log): Promise<OpenStore> {
  if (settings.store === "memory") {
    return { store: toMemoryStore(settings), close: async () => {} };
  }
  const binding = /^(kv|d1):/.exec(settings.store)?.[1];
  if (binding !== undefined) {
    throw new SettingsError([
      `store ${binding}: is available on Workers only. On Node, use a file (sqlite:state.db), Redis or PostgreSQL.`,
    ]);
  }
  const path = sqlitePath(settings);
  if (path !== undefined) {
    const onProblem: SqliteStoreOptions["onProblem"] = (problem) => {
      if (problem === undefined) log?.info("store file in place again");
      else log?.warn("store file not in place", { path, message: problem });
    };
    const file = await openFile(path, settings, { onProblem });
    return { store: file, file, close: () => file.close() };
  }
  const timeoutMs = settings.storeTimeoutMs ?? DEFAULT_TIMEOUT_MS;
  if (settings.store.startsWith("postgres")) {
    const { openPostgresStore } = await import("./postgres-store.ts");
    const store = await openPostgresStore(settings.store, {
      timeoutMs,
      maxValueBytes: maxEntryBytes(settings),
      ...toStoreBounds(settings),
    });
    return { store, close: () => store.close() };
  }
  const { openRedisStore } = await import("./redis/redis-store.ts");
  const store = openRedisStore(settings.store, {
    timeoutMs,
    maxValueBytes: maxEntryBytes(settings),
  });
  return { store, close: () => store.close() };
}

/** Undefined: the store is not a file. */
export function sqlitePath({ store }: Settings): string | undefined {
  return store.startsWith(SQLITE) ? store.slice(SQLITE.length) : undefined;
}

const SQLITE = "sqlite:";

/** @throws SettingsError, StoreBusyError */
export async function openFile(
  path: string,
  settings: Settings,
  options: Partial<Pick<SqliteStoreOptions, "mayCreate" | "timeoutMs" | "onProblem">> = {},
): Promise<SqliteStore> {
  const { openSqliteStore } = await import("./sqlite/sqlite-store.ts");
  const { limits, quotaOf } = toStoreBounds(settings);
  return openSqliteStore(path, {
    timeoutMs: settings.storeTimeoutMs ?? DEFAULT_TIMEOUT_MS,
    ...options,
    limits,
    quotaOf,
  });
}
