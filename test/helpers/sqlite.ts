/** A store in a separate file, which is removed when the test has ended. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { onTestFinished } from "vitest";
import { EntryTable } from "../../src/node/sqlite/entry-table.ts";
import { MIGRATIONS } from "../../src/node/sqlite/open-database.ts";
import {
  openSqliteStore,
  type SqliteStore,
  type SqliteStoreOptions,
} from "../../src/node/sqlite/sqlite-store.ts";
import { limitsOf } from "../../src/store/fair-share.ts";
import type { ExpiryClock } from "../../src/store/expiry-clock.ts";
import type { Store, StoreLimits, StoreQuota } from "../../src/index.ts";

/** The path of a file that does not exist yet, in a separate folder. */
export function temporaryFile(name = "state.db"): string {
  const folder = mkdtempSync(join(tmpdir(), "store-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return join(folder, name);
}

export async function openTestFile(
  path: string,
  options: Partial<SqliteStoreOptions> = {},
): Promise<SqliteStore> {
  const store = await openSqliteStore(path, {
    timeoutMs: 30_000,
    limits: { maxEntries: 10_000, maxBytes: 64_000_000 },
    quotaOf: () => ({}),
    ...options,
  });
  onTestFinished(() => store.close());
  return store;
}

export interface TableOptions extends StoreLimits {
  readonly quotaOf?: (tenant: string) => StoreQuota;
  readonly now: () => number;
  /** Absent: `now`, which does not jump. */
  readonly clock?: ExpiryClock;
  /** The database, if the test also changes it. */
  readonly database?: DatabaseSync;
}

/** The tables of such a file in memory, without the thread: with a clock, and quick to create. */
export function createTableStore(
  options: TableOptions,
): Store & Pick<EntryTable, "prune" | "mend"> {
  const { quotaOf, now, ...limits } = options;
  const { database = new DatabaseSync(":memory:"), clock = { earliest: now, latest: now } } =
    options;
  for (const migration of MIGRATIONS) database.exec(migration);
  const table = new EntryTable(database, limits, clock);
  return {
    get: async (key) => table.get(key),
    set: async (key, value, ttlSeconds, tenant) =>
      table.set({
        type: "set",
        key,
        value,
        ttlSeconds,
        tenant,
        limits: limitsOf(limits, quotaOf?.(tenant)),
      }),
    delete: async (key) => table.delete(key),
    prune: () => table.prune(),
    mend: () => table.mend(),
  };
}
