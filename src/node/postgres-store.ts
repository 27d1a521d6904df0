/**
 * A store in PostgreSQL, by the optional package `pg`.
 *
 * Each operation is one statement of a few rows, with bounded time and bytes, so that no gateway waits for another and a killed
 * gateway leaves no lock. A periodic sweep in each gateway enforces the limits.
 */
import type { DatabaseError, Pool, QueryResult } from "pg";
import { SettingsError } from "../config/resolve.ts";
import { describeConnectionFailure } from "../engines/transport.ts";
import { openExpiryClock } from "../store/expiry-clock.ts";
import {
  fairLevel,
  limitsOf,
  type Share,
  type StoreLimits,
  type StoreQuota,
} from "../store/fair-share.ts";
import { StoreRefusal } from "../store/store-error.ts";
import { type Store, UNREADABLE } from "../store/store.ts";
import { waitAtMost } from "../streams/timers.ts";
import { isMissing, toInstallCommand } from "./cli/install-hint.ts";

export interface PostgresStoreOptions {
  /** Timeout of a statement, here and on the server. */
  readonly timeoutMs: number;
  /** Maximum bytes of a value. */
  readonly maxValueBytes: number;
  readonly limits: StoreLimits;
  readonly quotaOf: (tenant: string) => StoreQuota;
}

export interface PostgresStore extends Store {
  getMany(keys: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /** Closes the store after a brief wait for pending operations. */
  close(): Promise<void>;
  /** Removes expired entries, and entries beyond the limits. Runs automatically in every second with writes. */
  sweep(): Promise<void>;
}

/**
 * Opens the store. The server need not be reachable yet.
 *
 * @throws SettingsError if the package is missing or the URL is not valid
 */
export async function openPostgresStore(
  url: string,
  options: PostgresStoreOptions,
): Promise<PostgresStore> {
  const address = URL.parse(url);
  if (address === null || address.pathname.length < 2) {
    throw new SettingsError([
      "store postgres: the URL is not valid. Its form is postgres://user:password@host:5432/database.",
    ]);
  }
  const { Pool: Connections } = await importPg();
  const { timeoutMs } = options;
  const pool = new Connections({
    connectionString: url,
    application_name: "harmony-gateway",
    max: MAX_CONNECTIONS,
    connectionTimeoutMillis: timeoutMs,
    query_timeout: timeoutMs,
    statement_timeout: timeoutMs,
    lock_timeout: timeoutMs,
    keepAlive: true,
    allowExitOnIdle: true,
  });
  // An idle connection has failed. The next operation opens another one.
  pool.on("error", () => {});
  return new OpenPostgres(pool, `${address.protocol}//${address.host}${address.pathname}`, options);
}

async function importPg(): Promise<Pick<typeof import("pg"), "Pool">> {
  try {
    return (await import("pg")).default;
  } catch (error) {
    if (!isMissing(error, "pg")) throw error;
    throw new SettingsError([
      `store postgres: needs a package that is not installed: ${toInstallCommand("pg")}`,
    ]);
  }
}

const MAX_CONNECTIONS = 4;
/** Bytes of values that one statement reads, beyond the first value. */
const MAX_READ_BYTES = 16_777_216;
const SWEEP_MS = 1000;
/** Maximum entries that a sweep removes at a time. */
const SWEEP_ROWS = 1000;
/** Maximum reads that the next sweep notes. Above it, the oldest reads are forgotten. */
const MAX_NOTED = 1000;

const ENTRIES = "harmony_gateway_entries";
const VERSION = 1;
/** Arbitrary id of the advisory lock under which gateways create the tables. */
const SETUP_LOCK = 5_204_119;

/** `used` grows with each write and each noted read. `until` is in milliseconds since 1970. */
const SETUP = `
  BEGIN;
  SELECT pg_advisory_xact_lock(${SETUP_LOCK});
  CREATE TABLE IF NOT EXISTS harmony_gateway_version (version integer NOT NULL);
  INSERT INTO harmony_gateway_version SELECT ${VERSION} WHERE NOT EXISTS (SELECT FROM harmony_gateway_version);
  CREATE SEQUENCE IF NOT EXISTS harmony_gateway_used;
  CREATE TABLE IF NOT EXISTS ${ENTRIES} (
    key text COLLATE "C" PRIMARY KEY,
    tenant text COLLATE "C" NOT NULL,
    bytes bigint NOT NULL,
    used bigint NOT NULL DEFAULT nextval('harmony_gateway_used'),
    until bigint NOT NULL,
    value bytea NOT NULL);
  CREATE INDEX IF NOT EXISTS ${ENTRIES}_used ON ${ENTRIES} (tenant, used) INCLUDE (bytes);
  CREATE INDEX IF NOT EXISTS ${ENTRIES}_until ON ${ENTRIES} (until);
  COMMIT`;

/**
 * The server's clock, which may be wrong. An entry is readable until both clocks, the server's and the gateway's, are past its
 * expiry.
 */
const SERVER_NOW = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint";

class OpenPostgres implements PostgresStore {
  readonly #pool: Pool;
  readonly #publicUrl: string;
  readonly #options: PostgresStoreOptions;
  readonly #clock = openExpiryClock();
  readonly #read = new Set<string>();
  #ready: Promise<void> | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isClosed = false;

  constructor(pool: Pool, publicUrl: string, options: PostgresStoreOptions) {
    this.#pool = pool;
    this.#publicUrl = publicUrl;
    this.#options = options;
  }

  async get(key: string): Promise<string | undefined> {
    return (await this.getMany([key])).get(key);
  }

  /** Reads values. Those that exceed the bytes of one statement are read by further statements. */
  async getMany(keys: readonly string[]): Promise<Map<string, string>> {
    const found = new Map<string, string>();
    for (let left = [...keys]; left.length > 0;) {
      const { rows } = await this.#ask(
        `SELECT key, CASE WHEN octet_length(value) <= $3 THEN value END AS value FROM (
           SELECT key, value, sum(octet_length(value)) OVER (ORDER BY key) - octet_length(value) AS before
           FROM ${ENTRIES} WHERE key = ANY ($1) AND (until >= $2 OR until >= ${SERVER_NOW})) sized
         WHERE before < ${MAX_READ_BYTES}`,
        [left, Math.floor(this.#clock.earliest()), this.#options.maxValueBytes],
      );
      const asked = new Set(left);
      let bytes = 0;
      for (const { key, value } of rows) {
        if (typeof key !== "string" || !asked.has(key)) throw this.#explain(new Error(SHIFTED));
        asked.delete(key);
        // A value above the limit was not written by a gateway.
        found.set(key, Buffer.isBuffer(value) ? value.toString() : UNREADABLE);
        bytes += Buffer.isBuffer(value) ? value.length : 0;
        this.#note(key);
      }
      left = bytes < MAX_READ_BYTES ? [] : [...asked];
    }
    return found;
  }

  async set(key: string, value: string, ttlSeconds: number, tenant: string): Promise<boolean> {
    const content = Buffer.from(value);
    const bytes = Buffer.byteLength(key) + content.length;
    const { limits, quotaOf } = this.#options;
    if (bytes > limitsOf(limits, quotaOf(tenant)).maxBytes) return false;
    await this.#ask(
      `INSERT INTO ${ENTRIES} (key, tenant, bytes, until, value)
       VALUES ($1, $2, $3, greatest($4::bigint, ${SERVER_NOW}) + $5, $6)
       ON CONFLICT (key) DO UPDATE SET tenant = excluded.tenant, bytes = excluded.bytes, used = excluded.used,
         until = excluded.until, value = excluded.value`,
      [key, tenant, bytes, Math.floor(this.#clock.latest()), ttlSeconds * 1000, content],
    );
    this.#sweepSoon();
    return true;
  }

  async delete(key: string): Promise<void> {
    await this.#ask(`DELETE FROM ${ENTRIES} WHERE key = $1`, [key]);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await waitAtMost(this.#pool.end(), this.#options.timeoutMs);
  }

  async sweep(): Promise<void> {
    await this.#noteReads();
    // Both clocks must agree: a clock that jumped ahead would remove everything.
    await this.#removeAll(`until < least($1::bigint, ${SERVER_NOW})`, [
      Math.floor(this.#clock.earliest()),
    ]);
    const { rows } = await this.#ask(
      `SELECT tenant, count(*)::float8 AS entries, sum(bytes)::float8 AS bytes FROM ${ENTRIES} GROUP BY tenant`,
      [],
    );
    const shares = rows.map(toShare);
    const { limits, quotaOf } = this.#options;
    const most = {
      maxEntries: fairLevel(
        shares.map(({ entries }) => entries),
        limits.maxEntries,
      ),
      maxBytes: fairLevel(
        shares.map(({ bytes }) => bytes),
        limits.maxBytes,
      ),
    };
    for (const { tenant, entries, bytes } of shares) {
      const own = limitsOf(most, quotaOf(tenant));
      if (entries <= own.maxEntries && bytes <= own.maxBytes) continue;
      await this.#removeAll(
        `key IN (SELECT key FROM (
           SELECT key, row_number() OVER newest AS place, sum(bytes) OVER newest AS total
           FROM ${ENTRIES} WHERE tenant = $1 WINDOW newest AS (ORDER BY used DESC)) own
         WHERE place > $2 OR total > $3)`,
        [tenant, Math.floor(own.maxEntries), Math.floor(own.maxBytes)],
      );
    }
  }

  #note(key: string): void {
    this.#read.delete(key);
    this.#read.add(key);
    for (const oldest of this.#read) {
      if (this.#read.size <= MAX_NOTED) break;
      this.#read.delete(oldest);
    }
  }

  async #noteReads(): Promise<void> {
    const keys = [...this.#read];
    this.#read.clear();
    if (keys.length === 0) return;
    // Rows are locked in the order of their keys, so that two gateways never wait for each other.
    await this.#ask(
      `UPDATE ${ENTRIES} SET used = nextval('harmony_gateway_used') FROM (
         SELECT key AS noted FROM ${ENTRIES} WHERE key = ANY ($1) ORDER BY key FOR UPDATE SKIP LOCKED) locked
       WHERE key = noted`,
      [keys],
    );
  }

  async #removeAll(condition: string, values: readonly unknown[]): Promise<void> {
    const slice = `SELECT key FROM ${ENTRIES} WHERE ${condition} LIMIT ${SWEEP_ROWS} FOR UPDATE SKIP LOCKED`;
    for (;;) {
      const { rowCount } = await this.#ask(
        `DELETE FROM ${ENTRIES} WHERE key IN (${slice})`,
        values,
      );
      if ((rowCount ?? 0) < SWEEP_ROWS) return;
    }
  }

  #sweepSoon(): void {
    if (this.#isClosed || this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      void this.sweep()
        // The store's guard reports failures of operations, and the next write sweeps again.
        .catch(() => {})
        .finally(() => (this.#timer = undefined));
    }, SWEEP_MS);
    this.#timer.unref();
  }

  /** Runs a statement, and retries once if the connection was lost: all statements are repeatable. */
  async #ask(text: string, values: readonly unknown[]): Promise<QueryResult> {
    const startedAt = performance.now();
    for (let isRepeated = false; ; isRepeated = true) {
      try {
        await (this.#ready ??= this.#setUp());
        return await this.#pool.query(text, [...values]);
      } catch (error) {
        // The tables were dropped.
        const isGone = isRefused(error) && error.code === NO_TABLE;
        if (isGone) this.#ready = undefined;
        const isLate = performance.now() - startedAt >= this.#options.timeoutMs;
        if (isRepeated || isLate || !(isGone || isLost(error))) throw this.#explain(error);
      }
    }
  }

  /** Creates the tables if they do not exist. */
  async #setUp(): Promise<void> {
    try {
      const version = await this.#findVersion().catch(async (error: unknown) => {
        if (!isRefused(error) || error.code !== NO_TABLE) throw error;
        await this.#pool.query(SETUP);
        return this.#findVersion();
      });
      if (version !== VERSION) throw new Error(`its tables have version ${version}`);
    } catch (error) {
      this.#ready = undefined;
      throw error;
    }
  }

  async #findVersion(): Promise<number> {
    const { rows } = await this.#pool.query("SELECT version FROM harmony_gateway_version");
    return Number(rows[0]?.version);
  }

  #explain(error: unknown): Error {
    if (isRefused(error) && !isLost(error)) {
      return new StoreRefusal(
        error.code ?? "XX000",
        `PostgreSQL at ${this.#publicUrl} answered: ${error.message}.`,
        error,
      );
    }
    return new Error(
      `Cannot use PostgreSQL at ${this.#publicUrl} (${describeConnectionFailure(error)}). Check that it is running and that the setting store is right.`,
      { cause: error },
    );
  }
}

const SHIFTED = "it returned another entry";
const NO_TABLE = "42P01";

/** The server has answered with an error. */
function isRefused(error: unknown): error is DatabaseError {
  return error instanceof Error && "severity" in error;
}

/** The connection is lost, or the server shuts down, starts, or has no free connection. */
function isLost(error: unknown): boolean {
  return !isRefused(error) || /^(?:08|57P|53300)/.test(error.code ?? "");
}

function toShare({ tenant, entries, bytes }: Record<string, unknown>): Share {
  return { tenant: String(tenant), entries: Number(entries), bytes: Number(bytes) };
}
