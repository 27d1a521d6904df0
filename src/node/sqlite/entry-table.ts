/**
 * The entries in the database, within the limits of the store in memory.
 *
 * The last use of an entry is a count of its tenant. Reads are noted with the next write: a read writes nothing.
 */
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { hasRoom, largestShare, type Share, type StoreLimits } from "../../store/fair-share.ts";
import type { ExpiryClock } from "../../store/expiry-clock.ts";
import { readValue } from "./open-database.ts";
import type { Deleted, Operation, StoreCounts, TenantCounts } from "./protocol.ts";

/** Maximum entries that one transaction removes, so that other processes can write in between. */
const SLICE = 200;
/** Maximum reads that are noted. Above it, the oldest reads are forgotten. */
const MAX_NOTED = 1000;
/** Maximum pages that one transaction returns to the file system, and the share of free pages that is left for new entries. */
const VACUUM_PAGES = 256;
const FREE_SHARE = 1 / 4;

interface Row {
  readonly id: number;
  readonly key: string;
  readonly tenant: string;
  readonly bytes: number;
}

type Amount = Omit<Share, "tenant">;

type NewEntry = Extract<Operation, { type: "set" }>;

/** Statements name their columns: a later version may add others while this one has the file open. */
export class EntryTable {
  readonly #database: DatabaseSync;
  readonly #limits: StoreLimits;
  readonly #clock: ExpiryClock;
  readonly #statements = new Map<string, StatementSync>();
  readonly #read = new Set<string>();

  constructor(database: DatabaseSync, limits: StoreLimits, clock: ExpiryClock) {
    this.#database = database;
    this.#limits = limits;
    this.#clock = clock;
  }

  get(key: string): string | undefined {
    const row = this.#sql(
      "SELECT value FROM entries JOIN contents USING (id) WHERE key = ? AND until >= ?",
    ).get(key, this.#clock.earliest());
    if (row === undefined) return undefined;
    this.#read.delete(key);
    this.#read.add(key);
    for (const oldest of this.#read) {
      if (this.#read.size <= MAX_NOTED) break;
      this.#read.delete(oldest);
    }
    const { value } = row;
    // A value of another type was not written by a gateway.
    return value instanceof Uint8Array
      ? Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString()
      : "";
  }

  /** Stores an entry. False: the entry does not fit, and a previous value is unchanged. */
  set({ key, value, ttlSeconds, tenant, limits }: NewEntry): boolean {
    const content = Buffer.from(value);
    const bytes = Buffer.byteLength(key) + content.length;
    if (bytes > limits.maxBytes) return false;
    return this.#inTransaction(() => {
      this.#noteReads();
      const total = this.#total();
      const isWithin = total.bytes + bytes <= this.#limits.maxBytes;
      if (!isWithin && !hasRoom(this.#shares(), { tenant, size: bytes }, this.#limits.maxBytes)) {
        return false;
      }
      this.#remove(this.#find(key));
      const until = Math.floor(this.#clock.latest() + ttlSeconds * 1000);
      this.#sql(
        `INSERT INTO owners (tenant, entries, bytes, uses) VALUES (?, 1, ?, 1) ON CONFLICT DO UPDATE
         SET entries = entries + 1, bytes = bytes + excluded.bytes, uses = uses + 1`,
      ).run(tenant, bytes);
      const { lastInsertRowid } = this.#sql(
        `INSERT INTO entries (key, tenant, bytes, used, until)
         VALUES (?, ?, ?, (SELECT uses FROM owners WHERE tenant = ?), ?)`,
      ).run(key, tenant, bytes, tenant, until);
      // Another program may have left content whose entry is gone.
      const insert = "INSERT OR REPLACE INTO contents (id, value) VALUES (?, ?)";
      this.#sql(insert).run(lastInsertRowid, content);
      this.#makeRoom(tenant, limits);
      return true;
    });
  }

  delete(key: string): void {
    this.#inTransaction(() => this.#remove(this.#find(key)));
  }

  /** Recomputes the counts if another program has changed the entries or the counts. */
  mend(): void {
    if (!this.#isOff()) return;
    this.#inTransaction(() => this.#recount());
  }

  #isOff(): boolean {
    const held = this.#sql("SELECT count(*) AS entries, sum(bytes) AS bytes FROM entries").get();
    const [is, counted] = [toAmount(held), this.#total()];
    return is.entries !== counted.entries || is.bytes !== counted.bytes;
  }

  /** Removes a slice of the expired entries, and returns their number. */
  prune(): number {
    if (
      this.#sql("SELECT 1 FROM entries WHERE until < ? LIMIT 1").get(this.#clock.earliest()) ===
      undefined
    ) {
      return 0;
    }
    return this.#inTransaction(() => this.#removeExpired());
  }

  /** Returns a slice of the free pages to the file system. False: few are left. */
  shrink(): boolean {
    const free = Number(readValue(this.#database, "PRAGMA freelist_count"));
    const pages = Number(readValue(this.#database, "PRAGMA page_count"));
    if (free < VACUUM_PAGES || free < pages * FREE_SHARE) return false;
    this.#database.exec(`PRAGMA incremental_vacuum(${VACUUM_PAGES})`);
    return true;
  }

  /** Removes a slice of a tenant's entries, and returns their number and bytes. */
  removeSlice(tenant: string): Deleted {
    return this.#inTransaction(() => {
      const removed = this.#rows("tenant = ?", tenant);
      for (const row of removed) this.#remove(row);
      const bytes = removed.reduce((sum, row) => sum + row.bytes, 0);
      return { entries: removed.length, bytes };
    });
  }

  /**
   * Rewrites the file. `secure_delete` overwrites entries in place, but not the copies that are left in the free space of pages
   * when SQLite spreads their content over others.
   */
  rewrite(): void {
    this.#database.exec("VACUUM");
  }

  /** Moves the log into the file and empties it. False: another process is reading it. */
  emptyLog(): boolean {
    return readValue(this.#database, "PRAGMA wal_checkpoint(TRUNCATE)") === 0;
  }

  counts(): Omit<StoreCounts, "fileBytes"> {
    const tenants = this.#shares();
    const expired = this.#sql("SELECT count(*) AS n FROM entries WHERE until < ?").get(
      this.#clock.earliest(),
    );
    return { ...this.#total(), expired: Number(expired?.["n"]), tenants };
  }

  #inTransaction<T>(change: () => T): T {
    this.#database.exec("BEGIN IMMEDIATE");
    try {
      const result = change();
      this.#database.exec("COMMIT");
      return result;
    } catch (error) {
      // SQLite rolls back automatically after some errors, such as a full disk.
      if (this.#database.isTransaction) this.#database.exec("ROLLBACK");
      throw error;
    }
  }

  #noteReads(): void {
    for (const key of this.#read) {
      const tenant = this.#find(key)?.tenant;
      if (tenant === undefined) continue;
      this.#sql("UPDATE owners SET uses = uses + 1 WHERE tenant = ?").run(tenant);
      this.#sql(
        "UPDATE entries SET used = coalesce((SELECT uses FROM owners WHERE tenant = ?), used) WHERE key = ?",
      ).run(tenant, key);
    }
    this.#read.clear();
  }

  #makeRoom(writer: string, own: StoreLimits): void {
    const limits = this.#limits;
    if (!isOver(this.#total(), limits) && !isOver(this.#shareOf(writer), own)) return;
    this.#removeExpired();
    while (isOver(this.#shareOf(writer), own)) this.#evict(writer);
    for (let total = this.#total(); isOver(total, limits); total = this.#total()) {
      const measure = total.bytes > limits.maxBytes ? "bytes" : "entries";
      this.#evict(largestShare(this.#shares(), this.#shareOf(writer), measure).tenant);
    }
  }

  /** Evicts entries. The counts are recomputed where a tenant has fewer entries than they claim. */
  #evict(tenant: string): void {
    const oldest = toRow(this.#sql(`${ROWS} WHERE tenant = ? ORDER BY used LIMIT 1`).get(tenant));
    if (oldest === undefined) this.#recount();
    else this.#remove(oldest);
  }

  #recount(): void {
    const counted = "SELECT tenant, count(*), sum(bytes), max(used) FROM entries GROUP BY tenant";
    this.#database.exec(`
      DELETE FROM contents WHERE id NOT IN (SELECT id FROM entries);
      UPDATE owners SET entries = 0, bytes = 0;
      INSERT INTO owners (tenant, entries, bytes, uses) SELECT * FROM (${counted}) WHERE true ON CONFLICT DO UPDATE
        SET entries = excluded.entries, bytes = excluded.bytes, uses = max(uses, excluded.uses);
      DELETE FROM owners WHERE entries = 0`);
  }

  #removeExpired(): number {
    const expired = this.#rows("until < ?", this.#clock.earliest());
    for (const row of expired) this.#remove(row);
    return expired.length;
  }

  #remove(row: Row | undefined): void {
    if (row === undefined) return;
    this.#sql("DELETE FROM entries WHERE id = ?").run(row.id);
    this.#sql("DELETE FROM contents WHERE id = ?").run(row.id);
    this.#sql("UPDATE owners SET entries = entries - 1, bytes = bytes - ? WHERE tenant = ?").run(
      row.bytes,
      row.tenant,
    );
    this.#sql("DELETE FROM owners WHERE tenant = ? AND entries = 0").run(row.tenant);
  }

  #find(key: string): Row | undefined {
    return toRow(this.#sql(`${ROWS} WHERE key = ?`).get(key));
  }

  #rows(condition: string, value: string | number): Row[] {
    const rows = this.#sql(`${ROWS} WHERE ${condition} LIMIT ${SLICE}`).all(value);
    return rows.flatMap((row) => toRow(row) ?? []);
  }

  #shares(): TenantCounts[] {
    return this.#sql("SELECT tenant, entries, bytes FROM owners")
      .all()
      .map((row) => ({ tenant: String(row["tenant"]), ...toAmount(row) }));
  }

  #shareOf(tenant: string): Share {
    const row = this.#sql("SELECT entries, bytes FROM owners WHERE tenant = ?").get(tenant);
    return { tenant, ...toAmount(row) };
  }

  #total(): Amount {
    return toAmount(
      this.#sql("SELECT sum(entries) AS entries, sum(bytes) AS bytes FROM owners").get(),
    );
  }

  #sql(text: string): StatementSync {
    let statement = this.#statements.get(text);
    if (statement === undefined) {
      statement = this.#database.prepare(text);
      this.#statements.set(text, statement);
    }
    return statement;
  }
}

const ROWS = "SELECT id, key, tenant, bytes FROM entries";

function toRow(row: Readonly<Record<string, unknown>> | undefined): Row | undefined {
  if (row === undefined) return undefined;
  const { id, key, tenant, bytes } = row;
  return { id: Number(id), key: String(key), tenant: String(tenant), bytes: Number(bytes) };
}

function toAmount(row: Readonly<Record<string, unknown>> | undefined): Amount {
  return { entries: Number(row?.["entries"] ?? 0), bytes: Number(row?.["bytes"] ?? 0) };
}

function isOver(amount: Amount, { maxEntries, maxBytes }: StoreLimits): boolean {
  return amount.entries > maxEntries || amount.bytes > maxBytes;
}
