/** D1 with the limits of production, which its local simulation leaves out. */
import { expect, test, vi } from "vitest";
import { createD1Store } from "../../src/index.ts";
import { useFakeTime } from "../helpers/fake-time.ts";
import { createSimulatedD1 } from "../helpers/simulated-d1.ts";

useFakeTime();

test("expired rows are removed by a write, once a minute", async () => {
  const database = createSimulatedD1();
  const store = createD1Store(database);
  for (const key of ["a", "b", "c"]) await store.set(key, "x", 10, "alice");
  vi.advanceTimersByTime(59_000);
  await store.set("d", "x", 3600, "alice");
  expect(database.rows).toBe(4);
  vi.advanceTimersByTime(1_000);
  await store.set("e", "x", 3600, "alice");
  expect(database.rows).toBe(2);
});

test("a full database takes a write once something in it has expired", async () => {
  const store = createD1Store(createSimulatedD1({ maxRows: 2 }));
  await store.set("a", "x", 10, "alice");
  await store.set("b", "x", 3600, "bob");
  await expect(store.set("c", "x", 3600, "alice")).rejects.toMatchObject({
    name: "StoreRefusal",
    code: "Exceeded maximum DB size",
  });
  vi.advanceTimersByTime(11_000);
  expect(await store.set("c", "x", 3600, "alice")).toBe(true);
  expect(await store.getMany?.(["a", "b", "c"])).toEqual(
    new Map([
      ["b", "x"],
      ["c", "x"],
    ]),
  );
});

test("a long value is cut into rows, and a shorter one takes their place", async () => {
  const database = createSimulatedD1();
  const store = createD1Store(database);
  // Each character has three bytes, and a pair of surrogates stands where the first row ends.
  const long = "€".repeat(599_999) + "👩‍🚀" + "€".repeat(700_000);
  await store.set("a", long, 3600, "alice");
  expect(database.rows).toBe(3);
  expect(await store.get("a")).toBe(long);
  await store.set("a", "short", 3600, "alice");
  expect(await store.get("a")).toBe("short");
});

test("a thousand entries are read by eleven queries", async () => {
  const database = createSimulatedD1();
  const store = createD1Store(database);
  const keys = Array.from({ length: 1000 }, (_, n) => `k${n}`);
  await store.set("k999", "x", 3600, "alice");
  database.beginInvocation();
  expect(await store.getMany?.(keys)).toEqual(new Map([["k999", "x"]]));
  expect(database.queries).toBe(11);
});
