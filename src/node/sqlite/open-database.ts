/**
 * Opens the file of the store: creates a missing file, refuses a foreign one, checks it, and migrates it to the current version.
 *
 * `application_id` in its header identifies the gateway, `user_version` the version of the tables.
 */
import { accessSync, closeSync, constants, openSync, statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { DAMAGED, toFault, UnusableFile } from "./fault.ts";

/** The characters "HGst". */
const APPLICATION_ID = 0x48_47_73_74;

/**
 * Each entry migrates the tables from the version of its index to the next one. The list is only ever extended, and only by
 * changes with which the version before can work: during an upgrade both have the file open.
 */
export const MIGRATIONS: readonly string[] = [
  `CREATE TABLE owners (
     tenant TEXT PRIMARY KEY, entries INTEGER NOT NULL, bytes INTEGER NOT NULL, uses INTEGER NOT NULL
   ) STRICT, WITHOUT ROWID;
   CREATE TABLE entries (
     id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, tenant TEXT NOT NULL, bytes INTEGER NOT NULL,
     used INTEGER NOT NULL, until INTEGER NOT NULL
   ) STRICT;
   CREATE INDEX entries_by_use ON entries (tenant, used);
   CREATE INDEX entries_by_end ON entries (until);
   CREATE TABLE contents (id INTEGER PRIMARY KEY, value BLOB NOT NULL) STRICT;`,
];

/** The write-ahead log is truncated to this size when its pages are in the file. */
const MAX_LOG_BYTES = 4 * 1024 * 1024;
const PRIVATE_MODE = 0o600;

export interface OpenOptions {
  readonly path: string;
  readonly busyMs: number;
  readonly mayCreate: boolean;
  readonly migrations?: readonly string[];
}

/** Opens the file. Throws an {@link UnusableFile}, or an error of SQLite or the file system. */
export function openDatabase(options: OpenOptions): DatabaseSync {
  const { path, busyMs, mayCreate, migrations = MIGRATIONS } = options;
  prepareFile(path, mayCreate);
  const database = new DatabaseSync(path, { timeout: busyMs });
  try {
    // One transaction: another process may create the tables between two reads.
    database.exec("BEGIN");
    const isNew = identify(database, migrations.length);
    database.exec("COMMIT");
    // Deleted content is overwritten, in the file at once and in the log when it is truncated.
    database.exec("PRAGMA secure_delete = ON");
    if (isNew) database.exec("PRAGMA auto_vacuum = INCREMENTAL");
    keepTrying(() => database.exec("PRAGMA journal_mode = WAL"), busyMs);
    // Data that a process has written survives its end. A power failure may lose the latest writes, but never half an entry.
    database.exec(`PRAGMA synchronous = NORMAL; PRAGMA journal_size_limit = ${MAX_LOG_BYTES}`);
    migrate(database, migrations);
    if (readValue(database, "PRAGMA quick_check(1)") !== "ok") throw new UnusableFile(DAMAGED);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/** The first value of the first row. */
export function readValue(database: DatabaseSync, sql: string): unknown {
  return Object.values(database.prepare(sql).get() ?? {})[0];
}

function prepareFile(path: string, mayCreate: boolean): void {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) {
    if (!mayCreate) throw new UnusableFile("there is no such file.");
    // By the umask, SQLite would make the file readable for others. Its log gets the mode of the file.
    closeSync(openSync(path, constants.O_CREAT | constants.O_RDWR, PRIVATE_MODE));
  } else if (found.isDirectory()) {
    throw new UnusableFile("is a folder. Name a file in it.");
  } else if (!found.isFile()) {
    throw new UnusableFile("is not a file.");
  } else {
    // SQLite would open the file for reading only, and report that with the first write.
    accessSync(path, constants.R_OK | constants.W_OK);
  }
}

/** Checks the file without a change. Returns whether the file is empty. */
function identify(database: DatabaseSync, newest: number): boolean {
  const owner = readValue(database, "PRAGMA application_id");
  const version = Number(readValue(database, "PRAGMA user_version"));
  if (owner === APPLICATION_ID) {
    if (version <= newest) return false;
    throw new UnusableFile(
      `was written by a newer gateway (version ${version}; this one knows ${newest}). Start that gateway, or name another file.`,
    );
  }
  const hasTables = readValue(database, "SELECT count(*) FROM sqlite_schema") !== 0;
  if (owner === 0 && version === 0 && !hasTables) return true;
  throw new UnusableFile("is the database of another program. Name another file.");
}

function migrate(database: DatabaseSync, migrations: readonly string[]): void {
  database.exec("BEGIN IMMEDIATE");
  // Another process may have migrated the file in the meantime.
  const version = Number(readValue(database, "PRAGMA user_version"));
  for (const migration of migrations.slice(version)) database.exec(migration);
  const reached = Math.max(version, migrations.length);
  database.exec(
    `PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${reached}; COMMIT`,
  );
}

const RETRY_MS = 10;

/** Retries operations that SQLite refuses at once, without waiting, while another process has a lock. */
function keepTrying(run: () => void, forMs: number): void {
  const until = performance.now() + forMs;
  for (;;) {
    try {
      return run();
    } catch (error) {
      if (toFault(error)?.code !== "BUSY" || performance.now() >= until) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_MS);
    }
  }
}
