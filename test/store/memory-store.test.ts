import { expect, test } from "vitest";
import { createMemoryStore } from "../../src/store/memory-store.ts";

const START = 1_000_000;

function storeAt(bounds: { maxEntries?: number; maxBytes?: number } = {}) {
  const clock = { now: START };
  const store = createMemoryStore({
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

test("what was set is there, until it is deleted", async () => {
  const { store } = storeAt();
  expect(await store.get("a")).toBe(undefined);
  await store.set("a", "one", 60);
  await store.set("a", "two", 60);
  expect(await store.get("a")).toBe("two");
  await store.delete("a");
  expect(await store.get("a")).toBe(undefined);
  await store.delete("a");
});

test.each([
  "",
  "123",
  "true",
  "null",
  '{"a":1}',
  "base64:aGk=",
  "undefined",
  "\u0000",
  "é👩‍🚀\ud800",
])("%j comes back as the string it was", async (value) => {
  const { store } = storeAt();
  await store.set("key", value, 60);
  expect(await store.get("key")).toBe(value);
});

test("an entry lives as long as it was given, however often it is read", async () => {
  const { store, clock, held } = storeAt();
  await store.set("short", "x", 1);
  await store.set("long", "x", 3600);
  clock.now = START + 999;
  expect(await held("short", "long")).toEqual(["short", "long"]);
  clock.now = START + 1001;
  expect(await held("short", "long")).toEqual(["long"]);
  clock.now = START + 3_600_001;
  expect(await held("short", "long")).toEqual([]);
});

test("setting again gives an entry its time again", async () => {
  const { store, clock, held } = storeAt();
  await store.set("a", "x", 1);
  clock.now = START + 900;
  await store.set("a", "x", 1);
  clock.now = START + 1800;
  expect(await held("a")).toEqual(["a"]);
});

test("of too many entries, the one used longest ago leaves", async () => {
  const { store, held } = storeAt({ maxEntries: 3 });
  for (const key of ["a", "b", "c"]) await store.set(key, "x", 60);
  await store.get("a");
  await store.set("d", "x", 60);
  expect(await held("a", "b", "c", "d")).toEqual(["a", "c", "d"]);
});

test("entries leave when all of them together are too large", async () => {
  const { store, held } = storeAt({ maxBytes: 100 });
  await store.set("a", "x".repeat(49), 60);
  await store.set("b", "x".repeat(49), 60);
  expect(await held("a", "b")).toEqual(["a", "b"]);
  await store.set("c", "x", 60);
  expect(await held("a", "b", "c")).toEqual(["b", "c"]);
});

test("an entry larger than the store is not kept, and takes the place of none", async () => {
  const { store, held } = storeAt({ maxBytes: 100 });
  await store.set("a", "x", 60);
  await store.set("big", "x".repeat(200), 60);
  expect(await held("a", "big")).toEqual(["a"]);
});

test("a flood stays within its bounds", async () => {
  const { store, held } = storeAt({ maxEntries: 100, maxBytes: 2000 });
  const keys = Array.from({ length: 5000 }, (_, index) => `key-${index}`);
  for (const key of keys) await store.set(key, "x".repeat(92), 60);
  const left = await held(...keys);
  expect(left).toEqual(keys.slice(-20));
});
