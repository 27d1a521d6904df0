/**
 * Opens the file of the store: made if there is none, refused if it is not ours, checked, and brought to the current version.
 *
 * `application_id` in its header says whose it is, `user_version` which tables it has.
 */
import { accessSync, closeSync, constants, openSync, statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { DAMAGED, toFault, UnusableFile } from "./fault.ts";

/** "HGst". */
const APPLICATION_ID = 0x48_47_73_74;

/**
 * Each entry brings the tables from the version of its index to the next one. Only ever extended, and only by what the
 * version before it can work with: during an upgrade both have the file open.
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

/** The write-ahead log is cut to this size when its pages are in the file. */
const MAX_LOG_BYTES = 4 * 1024 * 1024;
const PRIVATE_MODE = 0o600;

export interface OpenOptions {
  readonly path: string;
  readonly busyMs: number;
  readonly mayCreate: boolean;
  readonly migrations?: readonly string[];
}

/** Throws an {@link UnusableFile}, or an error of SQLite or the file system. */
export function openDatabase(options: OpenOptions): DatabaseSync {
  const { path, busyMs, mayCreate, migrations = MIGRATIONS } = options;
  prepareFile(path, mayCreate);
  const database = new DatabaseSync(path, { timeout: busyMs });
  try {
    // One transaction: another process may create the tables between two reads.
    database.exec("BEGIN");
    const isNew = identify(database, migrations.length);
    database.exec("COMMIT");
    // What is deleted is overwritten, in the file at once and in the log when it is cut.
    database.exec("PRAGMA secure_delete = ON");
    if (isNew) database.exec("PRAGMA auto_vacuum = INCREMENTAL");
    keepTrying(() => database.exec("PRAGMA journal_mode = WAL"), busyMs);
    // What a process has written survives its end. A power failure may take the last moments, but never half an entry.
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
    // By the umask, SQLite would let others read it. Its log gets the mode of the file.
    closeSync(openSync(path, constants.O_CREAT | constants.O_RDWR, PRIVATE_MODE));
  } else if (found.isDirectory()) {
    throw new UnusableFile("is a folder. Name a file in it.");
  } else if (!found.isFile()) {
    throw new UnusableFile("is not a file.");
  } else {
    // SQLite would open it for reading only, and report that with the first write.
    accessSync(path, constants.R_OK | constants.W_OK);
  }
}

/** Changes nothing. Returns whether the file is empty. */
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
  // Another process may have done it in the meantime.
  const version = Number(readValue(database, "PRAGMA user_version"));
  for (const migration of migrations.slice(version)) database.exec(migration);
  const reached = Math.max(version, migrations.length);
  database.exec(
    `PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${reached}; COMMIT`,
  );
}

const RETRY_MS = 10;

/** For what SQLite refuses at once while another process has a lock, without waiting. */
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
