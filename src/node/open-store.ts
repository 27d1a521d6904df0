/** Opens the configured store on Node: in memory, in a file, in Redis or in PostgreSQL. */
import { SettingsError } from "../config/resolve.ts";
import type { Settings } from "../config/settings.ts";
import {
  isStoreOnNode,
  storeForms,
  storeKind,
  type StoreKindOn,
} from "../config/settings/store.ts";
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
  /** The store if it is in a file. */
  readonly file?: SqliteStore;
  /** Closes the store after a brief wait for pending operations. */
  close(): Promise<void>;
}

type Opener = (settings: Settings, log: Log | undefined) => Promise<OpenStore>;

const OPENERS: Readonly<Record<StoreKindOn<"node">, Opener>> = {
  memory: async (settings) => ({ store: toMemoryStore(settings), close: async () => {} }),
  async sqlite(settings, log) {
    const path = sqlitePath(settings) ?? "";
    const onProblem: SqliteStoreOptions["onProblem"] = (problem) => {
      if (problem === undefined) log?.info("store file in place again");
      else log?.warn("store file not in place", { path, message: problem });
    };
    const file = await openFile(path, settings, { onProblem });
    return { store: file, file, close: () => file.close() };
  },
  async redis(settings) {
    const { openRedisStore } = await import("./redis/redis-store.ts");
    return toOpen(openRedisStore(settings.store, toServerOptions(settings)));
  },
  async postgres(settings) {
    const { openPostgresStore } = await import("./postgres-store.ts");
    const options = { ...toServerOptions(settings), ...toStoreBounds(settings) };
    return toOpen(await openPostgresStore(settings.store, options));
  },
};

/**
 * Opens the store. A server need not be reachable yet. A file must be usable.
 * @param log receives a warning when the file is deleted or replaced while it is open.
 * @throws SettingsError, StoreBusyError
 */
export async function openStore(settings: Settings, log?: Log): Promise<OpenStore> {
  const kind = storeKind(settings.store);
  if (isStoreOnNode(kind)) return OPENERS[kind](settings, log);
  throw new SettingsError([
    `store ${kind}: is available on Workers only. On Node, use ${storeForms("node")}.`,
  ]);
}

function toOpen(store: Store & { close(): Promise<void> }): OpenStore {
  return { store, close: () => store.close() };
}

function toServerOptions(settings: Settings) {
  return {
    timeoutMs: settings.storeTimeoutMs ?? DEFAULT_TIMEOUT_MS,
    maxValueBytes: maxEntryBytes(settings),
  };
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
