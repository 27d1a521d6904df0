import { DatabaseSync } from "node:sqlite";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createMemoryStore, type MemoryStoreOptions, type Store } from "../../src/index.ts";
import { createTableStore } from "../helpers/sqlite.ts";

const START = 1_000_000;

/** Writes this number of entries of ten bytes, keys included. */
async function fill(store: Store, tenant: string, count: number): Promise<string[]> {
  const keys = Array.from({ length: count }, (_, index) => `${tenant}${index}`.padEnd(5));
  for (const key of keys) await store.set(key, "12345", 60, tenant);
  return keys;
}

describe.each([
  ["memory", createMemoryStore],
  ["SQLite", createTableStore],
] as const)("the bounds of %s:", (_store, create) => {
  function storeAt(bounds: Partial<MemoryStoreOptions> = {}) {
    const clock = { now: START };
    const store = create({
      maxEntries: 1000,
      maxBytes: 100_000,
      ...bounds,
      now: () => clock.now,
    });
    const held = async (...keys: string[]) => {
      const values = await Promise.all(keys.map((key) => store.get(key)));
      return keys.filter((_, index) => values[index] !== undefined);
    };
    return { store, clock, held };
  }

  test("an entry expires after its time to live, however often it is read", async () => {
    const { store, clock, held } = storeAt();
    await store.set("short", "x", 1, "alice");
    await store.set("long", "x", 3600, "alice");
    clock.now = START + 999;
    expect(await held("short", "long")).toEqual(["short", "long"]);
    clock.now = START + 1001;
    expect(await held("short", "long")).toEqual(["long"]);
    clock.now = START + 3_600_001;
    expect(await held("short", "long")).toEqual([]);
  });

  test("setting an entry again renews its time to live", async () => {
    const { store, clock, held } = storeAt();
    await store.set("a", "x", 1, "alice");
    clock.now = START + 900;
    await store.set("a", "x", 1, "alice");
    clock.now = START + 1800;
    expect(await held("a")).toEqual(["a"]);
  });

  test("the least recently used of too many entries is evicted", async () => {
    const { store, held } = storeAt({ maxEntries: 3 });
    for (const key of ["a", "b", "c"]) await store.set(key, "x", 60, "alice");
    await store.get("a");
    await store.set("d", "x", 60, "alice");
    expect(await held("a", "b", "c", "d")).toEqual(["a", "c", "d"]);
  });

  test("entries are evicted when they are too large together", async () => {
    const { store, held } = storeAt({ maxBytes: 100 });
    await store.set("a", "x".repeat(49), 60, "alice");
    await store.set("b", "x".repeat(49), 60, "alice");
    expect(await held("a", "b")).toEqual(["a", "b"]);
    await store.set("c", "x", 60, "alice");
    expect(await held("a", "b", "c")).toEqual(["b", "c"]);
  });

  test("an entry larger than the store is not stored, and evicts nothing", async () => {
    const { store, held } = storeAt({ maxBytes: 100 });
    await store.set("a", "x", 60, "alice");
    expect(await store.set("big", "x".repeat(200), 60, "alice")).toBe(false);
    expect(await store.set("a", "x".repeat(200), 60, "alice")).toBe(false);
    expect(await held("a", "big")).toEqual(["a"]);
  });

  test("a flood of entries stays within the limits", async () => {
    const { store, held } = storeAt({ maxEntries: 100, maxBytes: 2000 });
    const keys = Array.from({ length: 5000 }, (_, index) => `key-${index}`);
    for (const key of keys) await store.set(key, "x".repeat(92), 60, "alice");
    const left = await held(...keys);
    expect(left).toEqual(keys.slice(-20));
  });

  describe("between tenants", () => {
    test("a tenant that floods the store evicts nothing of one below its share", async () => {
      const { store, held } = storeAt({ maxBytes: 100 });
      const mine = await fill(store, "bob", 5);
      const theirs = await fill(store, "al", 1000);
      expect(await held(...mine)).toEqual(mine);
      expect(await held(...theirs)).toEqual(theirs.slice(-5));
    });

    test("entries are shared like bytes", async () => {
      const { store, held } = storeAt({ maxEntries: 10 });
      const mine = await fill(store, "bob", 5);
      await fill(store, "al", 1000);
      expect(await held(...mine)).toEqual(mine);
    });

    test("a tenant that fills the store loses entries to a new tenant, down to its share", async () => {
      const { store, held } = storeAt({ maxBytes: 100 });
      const theirs = await fill(store, "al", 10);
      const mine = await fill(store, "bob", 5);
      expect(await held(...mine)).toEqual(mine);
      expect(await held(...theirs)).toEqual(theirs.slice(-5));
    });

    test("an entry beyond the shares of the others is refused, and evicts nothing", async () => {
      const { store, held } = storeAt({ maxBytes: 100 });
      const others = [...(await fill(store, "al", 4)), ...(await fill(store, "cy", 4))];
      const mine = await fill(store, "bob", 2);
      expect(await store.set("big", "x".repeat(50), 60, "bob")).toBe(false);
      expect(await held(...others, ...mine)).toEqual([...others, ...mine]);
    });

    test("a quota applies even if there is room", async () => {
      const bytes = storeAt({ quotaOf: (tenant) => (tenant === "al" ? { maxBytes: 30 } : {}) });
      expect(await bytes.held(...(await fill(bytes.store, "al", 5)))).toHaveLength(3);
      expect(await bytes.store.set("big", "x".repeat(40), 60, "al")).toBe(false);
      expect(await bytes.store.set("big", "x".repeat(40), 60, "bob")).toBe(true);
      const entries = storeAt({ quotaOf: () => ({ maxEntries: 2 }) });
      expect(await entries.held(...(await fill(entries.store, "al", 5)))).toHaveLength(2);
    });

    test("with random operations the limits hold, and a tenant below its share loses nothing", async () => {
      const entry = fc.record({
        tenant: fc.constantFrom("al", "bob", "cy"),
        key: fc.nat(20),
        size: fc.nat(40),
      });
      await fc.assert(
        fc.asyncProperty(fc.array(entry, { maxLength: 60 }), async (writes) => {
          const { store, held } = storeAt({ maxBytes: 300 });
          const kept = new Map<string, Map<string, number>>();
          for (const { tenant, key: number, size } of writes) {
            const key = `${tenant}${number}`;
            const isKept = await store.set(key, "x".repeat(size), 60, tenant);
            const own = kept.get(tenant) ?? new Map<string, number>();
            kept.set(tenant, own);
            if (isKept) own.set(key, key.length + size);
          }
          for (const own of kept.values()) {
            const total = [...own.values()].reduce((sum, each) => sum + each, 0);
            const keys = [...own.keys()];
            const lost = keys.length - (await held(...keys)).length;
            expect(lost === 0 || total > 300 / 3).toBe(true);
          }
          const all = [...kept.values()].flatMap((own) => [...own]);
          const there = await held(...all.map(([key]) => key));
          const bytes = all.filter(([key]) => there.includes(key));
          expect(bytes.reduce((sum, [, each]) => sum + each, 0)).toBeLessThanOrEqual(300);
        }),
      );
    });
  });
});

describe("a file that another program has changed", () => {
  async function changed(sql: string) {
    const database = new DatabaseSync(":memory:");
    const now = () => START;
    const store = createTableStore({ maxEntries: 4, maxBytes: 1000, now, database });
    await fill(store, "al", 3);
    await store.get("al0  ");
    database.exec(sql);
    const rows = (query: string) =>
      database
        .prepare(query)
        .all()
        .map((row) => ({ ...row }));
    return {
      store,
      counts: () => rows("SELECT tenant, entries, bytes FROM owners"),
      held: () =>
        rows(
          "SELECT tenant, count(*) AS entries, sum(bytes) AS bytes FROM entries GROUP BY tenant",
        ),
      contents: () => rows("SELECT id FROM contents"),
    };
  }

  test.each([
    ["entries are gone, the counts claim them", "DELETE FROM entries"],
    ["the counts claim too much", "UPDATE owners SET bytes = 5000, entries = 500"],
    ["a tenant has counts only", "INSERT INTO owners VALUES ('bob', 100, 5000, 7)"],
    ["the last content stays without its entry", "DELETE FROM entries WHERE id = 3"],
    ["there are no counts", "DELETE FROM owners"],
    ["the counts claim too little", "UPDATE owners SET entries = 1, bytes = 1"],
    ["the counts are negative", "UPDATE owners SET entries = -5, bytes = -500"],
  ])("takes entries, and is counted anew, where %s", async (_, sql) => {
    const { store, counts, held, contents } = await changed(sql);
    await fill(store, "carol", 2);
    expect(await store.get("carol1")).toBe("12345");
    store.mend();
    expect(counts()).toEqual(held());
    await fill(store, "dave", 2);
    expect(counts()).toEqual(held());
    expect(contents()).toHaveLength(4);
  });
});
