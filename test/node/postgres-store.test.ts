/** The rules of the store in PostgreSQL beyond the contract of all stores (`test/store/contract.test.ts`). */
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import {
  openPostgresStore,
  type PostgresStore,
  type PostgresStoreOptions,
} from "../../src/node/postgres-store.ts";
import { HAS_POSTGRES, startPostgres, type TestPostgres } from "../helpers/postgres.ts";

test.each(["postgres://", "postgres://host", "postgres://host/"])("%s is refused", async (url) => {
  await expect(openPostgresStore(url, OPTIONS)).rejects.toThrow(
    "store postgres: the URL is not valid. Its form is postgres://user:password@host:5432/database.",
  );
});

const OPTIONS: PostgresStoreOptions = {
  timeoutMs: 10_000,
  maxValueBytes: 1000,
  limits: { maxEntries: 1000, maxBytes: 1_000_000 },
  quotaOf: () => ({}),
};

describe.skipIf(!HAS_POSTGRES)("PostgreSQL (skipped where PostgreSQL is not installed)", () => {
  let server: TestPostgres;
  beforeAll(async () => {
    server = await startPostgres();
  }, 60_000);
  afterAll(() => server.remove());
  beforeEach(() =>
    server.query("DROP TABLE IF EXISTS harmony_gateway_entries, harmony_gateway_version"),
  );

  async function open(options: Partial<PostgresStoreOptions> = {}): Promise<PostgresStore> {
    const store = await openPostgresStore(server.url, { ...OPTIONS, ...options });
    onTestFinished(() => store.close());
    return store;
  }

  async function held(store: PostgresStore, keys: readonly string[]): Promise<string[]> {
    await store.sweep();
    const rows = await server.query("SELECT key FROM harmony_gateway_entries");
    const left = new Set(rows.map((row) => row["key"]));
    return keys.filter((key) => left.has(key));
  }

  /** Entries of ten bytes, keys included. */
  async function fill(store: PostgresStore, tenant: string, count: number): Promise<string[]> {
    const keys = Array.from({ length: count }, (_, index) => `${tenant}${index}`.padEnd(5));
    for (const key of keys) await store.set(key, "12345", 60, tenant);
    return keys;
  }

  test("many gateways make the tables at once", async () => {
    const stores = await Promise.all(Array.from({ length: 8 }, () => open()));
    await Promise.all(stores.map((store, n) => store.set(`k${n}`, `v${n}`, 60, "alice")));
    expect(await stores[0]?.get("k7")).toBe("v7");
  });

  test("tables of a later version are not touched", async () => {
    await (await open()).set("a", "1", 60, "alice");
    await server.query("UPDATE harmony_gateway_version SET version = 2");
    const store = await open();
    await expect(store.get("a")).rejects.toThrow("its tables have version 2");
    await expect(store.set("a", "2", 60, "alice")).rejects.toThrow("its tables have version 2");
    await server.query("UPDATE harmony_gateway_version SET version = 1");
    expect(await store.get("a")).toBe("1");
  });

  test("dropped tables are made again", async () => {
    const store = await open();
    await store.set("a", "1", 60, "alice");
    await server.query("DROP TABLE harmony_gateway_entries, harmony_gateway_version");
    expect(await store.get("a")).toBe(undefined);
    expect(await store.set("a", "2", 60, "alice")).toBe(true);
    expect(await store.get("a")).toBe("2");
  });

  test("an expired entry is not read, and the sweep removes it", async () => {
    const store = await open();
    await store.set("short", "x", 0, "alice");
    await store.set("long", "x", 60, "alice");
    await server.query(
      "UPDATE harmony_gateway_entries SET until = until - 1000 WHERE key = 'short'",
    );
    expect(await store.getMany(["short", "long"])).toEqual(new Map([["long", "x"]]));
    expect(await held(store, ["short", "long"])).toEqual(["long"]);
  });

  test("the least recently used of too many entries are removed", async () => {
    const store = await open({ limits: { maxEntries: 3, maxBytes: 1_000_000 } });
    for (const key of ["a", "b", "c"]) await store.set(key, "x", 60, "alice");
    await store.get("a");
    await store.sweep();
    await store.set("d", "x", 60, "alice");
    expect(await held(store, ["a", "b", "c", "d"])).toEqual(["a", "c", "d"]);
  });

  test("a key that floods the store loses its own entries alone", async () => {
    const store = await open({ limits: { maxEntries: 1000, maxBytes: 100 } });
    const mine = await fill(store, "bob", 5);
    const theirs = await fill(store, "al", 40);
    expect(await held(store, mine)).toEqual(mine);
    expect(await held(store, theirs)).toEqual(theirs.slice(-5));
  });

  test("a key has no more than its own limits, though there is room", async () => {
    const quotaOf = (tenant: string) => (tenant === "al" ? { maxEntries: 2 } : {});
    const store = await open({ quotaOf });
    const theirs = await fill(store, "al", 5);
    const mine = await fill(store, "bob", 5);
    expect(await held(store, theirs)).toEqual(theirs.slice(-2));
    expect(await held(store, mine)).toEqual(mine);
  });

  test("more entries than a sweep removes at a time are removed", async () => {
    const store = await open({ limits: { maxEntries: 100, maxBytes: 1_000_000 } });
    await store.get("a");
    await server.query(
      "INSERT INTO harmony_gateway_entries (key, tenant, bytes, until, value) SELECT n, 'alice', 1, 9e15, '' FROM generate_series(1, 2500) n",
    );
    await store.sweep();
    const rows = await server.query("SELECT min(key::int), count(*) FROM harmony_gateway_entries");
    expect(rows).toEqual([{ min: 2401, count: "100" }]);
  });

  test("an entry larger than its key may have is not stored, and its value stays", async () => {
    const store = await open({ quotaOf: () => ({ maxBytes: 100 }) });
    await store.set("a", "x", 60, "alice");
    expect(await store.set("a", "x".repeat(200), 60, "alice")).toBe(false);
    expect(await store.get("a")).toBe("x");
  });

  test("a value longer than any of the gateway's is not read, and counts as not readable", async () => {
    const store = await open();
    await store.set("b", "1", 60, "alice");
    await server.query(
      "INSERT INTO harmony_gateway_entries (key, tenant, bytes, until, value) VALUES ('a', 'alice', 1, 9e15, decode(repeat('61', 1001), 'hex'))",
    );
    expect(await store.getMany(["a", "b"])).toEqual(
      new Map([
        ["a", ""],
        ["b", "1"],
      ]),
    );
  });

  test("operations go on after the server was killed and started again", async () => {
    const store = await open();
    await store.set("a", "1", 3600, "alice");
    await server.kill();
    await expect(store.get("a")).rejects.toThrow(
      /^Cannot use PostgreSQL at postgres:\/\/127\.0\.0\.1:\d+\/postgres \(.+\)\. Check that it is running/,
    );
    await server.start();
    expect(await store.get("a")).toBe("1");
    await server.query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'harmony-gateway'",
    );
    expect(await store.get("a")).toBe("1");
  });

  test("a statement that waits for a lock is given up, and the next one succeeds", async () => {
    const store = await open({ timeoutMs: 300 });
    await store.set("a", "1", 3600, "alice");
    const locked = server.query(
      "BEGIN; LOCK TABLE harmony_gateway_entries; SELECT pg_sleep(1.5); COMMIT",
    );
    await expect.poll(() => store.get("a").catch(() => "late")).toBe("late");
    await locked;
    expect(await store.get("a")).toBe("1");
  });

  test("sslmode=verify-full demands TLS, which this server lacks", async () => {
    const store = await openPostgresStore(`${server.url}?sslmode=verify-full`, OPTIONS);
    onTestFinished(() => store.close());
    await expect(store.get("a")).rejects.toThrow("The server does not support SSL connections");
  });

  test("no error names the password", async () => {
    const url = server.url.replace("gateway@", "gateway:geheim@").replace("/postgres", "/none");
    const store = await openPostgresStore(url, OPTIONS);
    onTestFinished(() => store.close());
    const error: unknown = await store.get("a").catch((failure: unknown) => failure);
    expect(String(error)).toContain('answered: database "none" does not exist');
    expect(String(error)).not.toContain("geheim");
  });
});
