import { describe, expect, test } from "vitest";
import { createForgivingStore } from "../../src/store/forgiving-store.ts";
import { createMemoryStore } from "../../src/store/memory-store.ts";
import type { Store } from "../../src/store/store.ts";

/** A store whose state a test decides, and a record of what was asked of it and what was reported. */
function troubled() {
  const memory = createMemoryStore({ maxEntries: 100, maxBytes: 10_000, now: Date.now });
  const state: { mode: "well" | "down" | "stuck"; now: number } = { mode: "well", now: 5000 };
  const asked: string[] = [];
  const reported: string[] = [];

  async function behave<T>(name: string, answer: () => Promise<T>): Promise<T> {
    asked.push(name);
    if (state.mode === "down") throw new Error("connection refused");
    if (state.mode === "stuck") return new Promise<T>(() => {});
    return answer();
  }
  const inner: Store = {
    get: (key) => behave("get", () => memory.get(key)),
    set: (key, value, ttl) => behave("set", () => memory.set(key, value, ttl)),
    delete: (key) => behave("delete", () => memory.delete(key)),
  };
  const store = createForgivingStore(inner, {
    timeoutMs: 20,
    now: () => state.now,
    onFailure: (operation, failure, error) => {
      reported.push(
        [operation, failure, ...(error instanceof Error ? [error.message] : [])].join(" "),
      );
    },
    onRecovery: () => reported.push("recovered"),
  });
  return { store, state, asked, reported };
}

test("a store that is well is passed through, and nothing is reported", async () => {
  const { store, reported } = troubled();
  await store.set("a", "x", 60);
  expect(await store.get("a")).toBe("x");
  await store.delete("a");
  expect(await store.get("a")).toBe(undefined);
  expect(reported).toEqual([]);
});

test("a store that is down is as good as empty", async () => {
  const { store, state, reported } = troubled();
  await store.set("a", "x", 60);
  state.mode = "down";
  expect(await store.get("a")).toBe(undefined);
  expect(await store.set("a", "y", 60)).toBe(undefined);
  expect(reported).toEqual(["get error connection refused", "set error connection refused"]);
});

test("a store that does not answer is waited for no longer than it is given", async () => {
  const { store, state, reported } = troubled();
  state.mode = "stuck";
  const started = performance.now();
  expect(await store.get("a")).toBe(undefined);
  expect(performance.now() - started).toBeLessThan(500);
  expect(reported).toEqual(["get timeout"]);
});

test("a store that throws before it promises is forgiven too", async () => {
  const reported: string[] = [];
  const throwing = () => {
    throw new Error("no client");
  };
  const store = createForgivingStore(
    { get: throwing, set: throwing, delete: throwing },
    {
      timeoutMs: 20,
      now: () => 0,
      onFailure: (operation, failure) => reported.push(`${operation} ${failure}`),
      onRecovery: () => {},
    },
  );
  await store.delete("a");
  expect(reported).toEqual(["delete error"]);
});

describe("after three failures in a row", () => {
  async function failThrice() {
    const all = troubled();
    all.state.mode = "down";
    for (const key of ["a", "b", "c"]) await all.store.get(key);
    all.asked.length = 0;
    all.reported.length = 0;
    return all;
  }

  test("the store is left alone for a second, and what it would have been asked is lost", async () => {
    const { store, state, asked, reported } = await failThrice();
    state.mode = "well";
    state.now += 999;
    expect(await store.get("a")).toBe(undefined);
    expect(asked).toEqual([]);
    expect(reported).toEqual(["get resting"]);
  });

  test("then it is asked again, and its recovery told", async () => {
    const { store, state, reported } = await failThrice();
    state.mode = "well";
    state.now += 1000;
    await store.set("a", "x", 60);
    expect(await store.get("a")).toBe("x");
    expect(reported).toEqual(["recovered"]);
  });

  test("a failure then gives it another rest at once", async () => {
    const { store, state, asked, reported } = await failThrice();
    state.now += 1000;
    await store.get("a");
    await store.get("b");
    expect(asked).toEqual(["get"]);
    expect(reported).toEqual(["get error connection refused", "get resting"]);
  });
});

test("failures with successes between them are no reason to rest", async () => {
  const { store, state, asked } = troubled();
  for (let round = 0; round < 5; round++) {
    state.mode = "down";
    await store.get("a");
    state.mode = "well";
    await store.get("a");
  }
  expect(asked.length).toBe(10);
});
