/**
 * Cloudflare's D1 as a store, for Workers: a SQLite database that is consistent in all locations.
 *
 * An entry is one row, or several if it exceeds the size of a row. `parts` in the first row is their number: further rows of an
 * earlier, longer value are not read, and expire. The first write without a table creates it.
 */
import { openExpiryClock } from "./expiry-clock.ts";
import { hasMethods } from "./kv-store.ts";
import { isRefusal, StoreRefusal } from "./store-error.ts";
import { type Store, UNREADABLE } from "./store.ts";

/** The members of a D1 database that are used. */
export interface D1Database {
  prepare(query: string): D1Statement;
  /** Runs the statements in one transaction. */
  batch(statements: D1Statement[]): Promise<unknown>;
}

export interface D1Statement {
  bind(...values: (string | number)[]): D1Statement;
  all(): Promise<{ readonly results: Readonly<Record<string, unknown>>[] }>;
}

export function isD1Database(value: unknown): value is D1Database {
  return hasMethods(value, ["prepare", "batch"]);
}

const TABLE = "harmony_gateway_entries";
const SCHEMA = [
  `CREATE TABLE IF NOT EXISTS ${TABLE} (key TEXT NOT NULL, part INTEGER NOT NULL, parts INTEGER NOT NULL,
    until INTEGER NOT NULL, value TEXT NOT NULL, PRIMARY KEY (key, part)) WITHOUT ROWID`,
  `CREATE INDEX IF NOT EXISTS ${TABLE}_until ON ${TABLE} (until)`,
];

/** Maximum characters of a row, which has at most 2,000,000 bytes. A character has at most three. */
const MAX_PART = 600_000;
/** Maximum keys of a query, which has at most 100 parameters, including the time. */
const MAX_KEYS = 99;
/** Timeout of a query. The database is in one location, which may be far away. */
const TIMEOUT_MS = 3000;
/** Minimum time between writes. A background response of twenty minutes then takes fewer queries than one invocation may use. */
const PACE_MS = 1000;
/** Interval at which an isolate removes expired rows, and their maximum number. */
const PRUNE_EVERY_MS = 60_000;
const PRUNE_ROWS = 1000;

/**
 * @example
 * ```ts
 * import { createD1Store, type D1Database } from "harmony-gateway";
 *
 * export const openStore = (env: { STORE: D1Database }) => createD1Store(env.STORE);
 * typeof openStore; // => "function"
 * ```
 */
export function createD1Store(database: D1Database): Store {
  const clock = openExpiryClock();
  let pruneAt = -Infinity;

  function prune(): D1Statement[] {
    const now = performance.now();
    if (now < pruneAt) return [];
    pruneAt = now + PRUNE_EVERY_MS;
    return [removeExpired()];
  }

  function removeExpired(): D1Statement {
    const expired = `SELECT key, part FROM ${TABLE} WHERE until < ? LIMIT ${PRUNE_ROWS}`;
    const query = `DELETE FROM ${TABLE} WHERE (key, part) IN (${expired})`;
    return database.prepare(query).bind(Math.floor(clock.earliest()));
  }

  async function write(statements: D1Statement[]): Promise<void> {
    const run = (batch: D1Statement[]) => answered(() => database.batch(batch));
    try {
      await run(statements);
    } catch (error) {
      if (isRefusal(error, NO_TABLE)) await run(SCHEMA.map((query) => database.prepare(query)));
      // The refused transaction has removed no rows.
      else if (isRefusal(error, ...FULL)) await run([removeExpired()]);
      else throw error;
      await run(statements);
    }
  }

  async function read(keys: readonly string[]): Promise<[key: string, value: string][]> {
    const marks = keys.map(() => "?").join(", ");
    const query = `SELECT key, part, parts, value FROM ${TABLE} WHERE key IN (${marks}) AND until >= ? ORDER BY key, part`;
    try {
      const { results } = await answered(() =>
        database
          .prepare(query)
          .bind(...keys, Math.floor(clock.earliest()))
          .all(),
      );
      return toEntries(results);
    } catch (error) {
      if (isRefusal(error, NO_TABLE)) return [];
      throw error;
    }
  }

  return {
    timeoutMs: TIMEOUT_MS,
    paceMs: PACE_MS,
    get: async (key) => (await read([key])).at(0)?.[1],
    async getMany(keys) {
      const slices: Promise<[string, string][]>[] = [];
      for (let at = 0; at < keys.length; at += MAX_KEYS) {
        slices.push(read(keys.slice(at, at + MAX_KEYS)));
      }
      return new Map((await Promise.all(slices)).flat());
    },
    async set(key, value, ttlSeconds) {
      const parts = toParts(value);
      const until = Math.floor(clock.latest() + ttlSeconds * 1000);
      const insert = database.prepare(`INSERT OR REPLACE INTO ${TABLE} VALUES (?, ?, ?, ?, ?)`);
      await write([
        ...prune(),
        ...parts.map((part, at) => insert.bind(key, at, parts.length, until, part)),
      ]);
      return true;
    },
    delete: (key) => write([database.prepare(`DELETE FROM ${TABLE} WHERE key = ?`).bind(key)]),
  };
}

/** Splits a value. A surrogate pair stays together, because half of it does not survive UTF-8. */
function toParts(value: string): string[] {
  const parts: string[] = [];
  for (let at = 0; at === 0 || at < value.length;) {
    let end = Math.min(at + MAX_PART, value.length);
    if (end < value.length && (value.charCodeAt(end) & 0xfc00) === 0xdc00) end -= 1;
    parts.push(value.slice(at, end));
    at = Math.max(end, 1);
  }
  return parts;
}

/** @param rows rows in the order of key and part. */
function toEntries(rows: readonly Readonly<Record<string, unknown>>[]): [string, string][] {
  return [...Map.groupBy(rows, (row) => String(row["key"]))].map(([key, own]) => {
    const parts = Number(own[0]?.["parts"]);
    const isWhole =
      own.length >= parts && own.slice(0, parts).every((row, at) => row["part"] === at);
    const value = own.slice(0, parts).map((row) => row["value"]);
    return [key, isWhole ? value.join("") : UNREADABLE];
  });
}

const NO_TABLE = "no such table";
const FULL = ["Exceeded maximum DB size", "SQLITE_FULL"];
/** Matches errors of a database that answers. `Too many`: one invocation has used up its queries. */
const REFUSALS = new RegExp([NO_TABLE, ...FULL, "SQLITE_TOOBIG", "Too many"].join("|"));

async function answered<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    const code = error instanceof Error ? REFUSALS.exec(error.message)?.[0] : undefined;
    if (code === undefined) throw error;
    throw new StoreRefusal(code, `D1 answered: ${code}.`, error);
  }
}
