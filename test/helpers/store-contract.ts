/** The contract of every store. */
import type { Store } from "../../src/index.ts";
import { expect, test } from "vitest";

export interface StoreUnderTest {
  /** An empty store, or one in which no other test has used `key`. */
  readonly open: () => Promise<Store> | Store;
  /** Advances the store's time. Absent: the store has its own clock. */
  readonly pass?: (ms: number) => void | Promise<void>;
}

let lastKey = 0;

/** Reads entries by one operation where the store has it. */
async function readMany(
  store: Store,
  keys: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  if (store.getMany) return store.getMany(keys);
  const found = new Map<string, string>();
  for (const key of keys) {
    const value = await store.get(key);
    if (value !== undefined) found.set(key, value);
  }
  return found;
}

/** Declares the tests. */
export function testStoreContract({ open, pass }: StoreUnderTest): void {
  /** Returns a new key, so that tests do not share entries: some stores are shared, or remember misses. */
  const newKey = () => `reasoning:${++lastKey}-${crypto.randomUUID()}`;

  test("an entry exists until it is deleted", async () => {
    const [store, key] = [await open(), newKey()];
    await store.set(key, '["one"]', 3600, "alice");
    expect(await store.get(key)).toBe('["one"]');
    await pass?.(2_000);
    await store.delete(key);
    expect(await store.get(key)).toBe(undefined);
    await pass?.(2_000);
    await store.delete(key);
  });

  test("an entry that was never written is missing", async () => {
    expect(await (await open()).get(newKey())).toBe(undefined);
  });

  test("a second value replaces the first one, of any length", async () => {
    const [store, key] = [await open(), newKey()];
    for (const value of ["one", "x".repeat(100_000), ""]) {
      expect(await store.set(key, value, 3600, "alice")).toBe(true);
      expect(await store.get(key)).toBe(value);
      await pass?.(2_000);
    }
  });

  const values = [
    "",
    "123",
    "null",
    '{"a":1}',
    "base64:aGk=",
    "\u0000",
    "a\u0000b",
    "\r\n",
    "é👩‍🚀\ufeff\ufffd",
    "x".repeat(1_000_000),
  ];
  test.each(values.map((value) => [JSON.stringify(value).slice(0, 20), value] as const))(
    "%s comes back as the string it was",
    async (_, value) => {
      const [store, key] = [await open(), newKey()];
      await store.set(key, value, 3600, "alice");
      expect(await store.get(key)).toBe(value);
    },
  );

  test("keys that differ in a single character, or in its case, are different entries", async () => {
    const [store, key] = [await open(), newKey()];
    const names = [`${key}a`, `${key}A`, `${key}a `, `${key}%`, `${key}_`, `${key}é`];
    for (const name of names) await store.set(name, name, 3600, "alice");
    expect(await Promise.all(names.map((name) => store.get(name)))).toEqual(names);
  });

  test("operations that do not wait for each other do not mix", async () => {
    const [store, key] = [await open(), newKey()];
    const numbers = Array.from({ length: 100 }, (_, n) => n);
    await Promise.all(numbers.map((n) => store.set(key + n, `v${n}`, 3600, "alice")));
    expect(await Promise.all(numbers.map((n) => store.get(key + n)))).toEqual(
      numbers.map((n) => `v${n}`),
    );
  });

  test("many entries are read at once, and those that are missing are left out", async () => {
    const [store, key] = [await open(), newKey()];
    const keys = Array.from({ length: 250 }, (_, n) => key + n);
    const kept = keys.filter((_, n) => n % 2 === 0);
    await Promise.all(kept.map((each) => store.set(each, `v${each}`, 3600, "alice")));
    expect(await readMany(store, keys)).toEqual(new Map(kept.map((each) => [each, `v${each}`])));
  });

  test("entries that are too large to be read at once are read nevertheless", async () => {
    const [store, key] = [await open(), newKey()];
    const large = "x".repeat(7_000_000);
    const keys = Array.from({ length: 5 }, (_, n) => key + n);
    for (const each of keys) expect(await store.set(each, large, 3600, "alice")).toBe(true);
    const found = await readMany(store, keys);
    expect([...found].map(([name, value]) => [name, value.length])).toEqual(
      keys.map((each) => [each, large.length]),
    );
  });

  test.skipIf(pass === undefined)(
    "an entry expires, unless it is written again (skipped where the store has a clock of its own)",
    async () => {
      const [store, one, other] = [await open(), newKey(), newKey()];
      await store.set(one, "x", 100, "alice");
      await store.set(other, "x", 100, "alice");
      await pass?.(90_000);
      await store.set(other, "y", 100, "alice");
      expect([await store.get(one), await store.get(other)]).toEqual(["x", "y"]);
      // The time is longer than a location of KV caches a read.
      await pass?.(75_000);
      expect([await store.get(one), await store.get(other)]).toEqual([undefined, "y"]);
      await pass?.(100_000);
      expect(await store.get(other)).toBe(undefined);
    },
  );
}
