import { describe, expect, test, vi } from "vitest";
import { createForgivingStore, createGuardedStore } from "../../src/store/guarded-store.ts";
import { createMemoryStore, type Store } from "../../src/index.ts";
import { StoreRefusal } from "../../src/store/store-error.ts";

/** A store whose state a test decides, and a record of its calls and of the reports. */
function troubled() {
  const memory = createMemoryStore({ maxEntries: 100, maxBytes: 10_000, now: Date.now });
  const state = {
    mode: "well" as "well" | "down" | "stuck",
    /** Operations that are answered with an error. */
    refused: new Set<string>(),
    now: 5000,
  };
  const asked: string[] = [];
  const reported: string[] = [];

  async function behave<T>(name: string, answer: () => Promise<T>): Promise<T> {
    asked.push(name);
    if (state.refused.has(name)) throw new StoreRefusal("OOM", "it answered: OOM");
    if (state.mode === "down") throw new Error("connection refused");
    if (state.mode === "stuck") return new Promise<T>(() => {});
    return answer();
  }
  const inner: Store = {
    get: (key) => behave("get", () => memory.get(key)),
    set: (key, value, ttl, tenant) => behave("set", () => memory.set(key, value, ttl, tenant)),
    delete: (key) => behave("delete", () => memory.delete(key)),
  };
  const store = createGuardedStore(inner, {
    timeoutMs: 20,
    maxEntryBytes: 1000,
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

test("a healthy store is passed through, and nothing is reported", async () => {
  const { store, reported } = troubled();
  await store.set("a", "x", 60, "alice");
  expect(await store.get("a")).toBe("x");
  await store.delete("a");
  expect(await store.get("a")).toBe(undefined);
  expect(reported).toEqual([]);
});

const UNAVAILABLE = expect.objectContaining({ name: "StoreError", kind: "unavailable" });

test("a store that is down rejects, and each failure is reported", async () => {
  const { store, state, reported } = troubled();
  await store.set("a", "x", 60, "alice");
  state.mode = "down";
  await expect(store.get("a")).rejects.toEqual(UNAVAILABLE);
  await expect(store.set("a", "y", 60, "alice")).rejects.toEqual(UNAVAILABLE);
  expect(reported).toEqual(["get error connection refused", "set error connection refused"]);
});

test("an operation of a store that does not answer times out", async () => {
  vi.useFakeTimers();
  try {
    const { store, state, reported } = troubled();
    state.mode = "stuck";
    const asked = store.get("a").catch((error: unknown) => error);
    await vi.advanceTimersByTimeAsync(19);
    expect(reported).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(await asked).toEqual(UNAVAILABLE);
    expect(reported).toEqual([
      "get timeout There was no answer within 20 ms (setting storeTimeoutMs).",
    ]);
  } finally {
    vi.useRealTimers();
  }
});

test("a store that throws synchronously fails like one that rejects", async () => {
  const reported: string[] = [];
  const throwing = () => {
    throw new Error("no client");
  };
  const store = createGuardedStore(
    { get: throwing, set: throwing, delete: throwing },
    {
      timeoutMs: 20,
      now: () => 0,
      onFailure: (operation, failure) => reported.push(`${operation} ${failure}`),
      onRecovery: () => {},
    },
  );
  await expect(store.delete("a")).rejects.toEqual(UNAVAILABLE);
  expect(reported).toEqual(["delete error"]);
});

test("an entry larger than allowed is not stored, does not count as a failure, and keeps the old entry", async () => {
  const { store, asked, reported } = troubled();
  expect(await store.set("a", "x".repeat(1000), 60, "alice")).toBe(true);
  asked.length = 0;
  expect(await store.set("a", "x".repeat(1001), 60, "alice")).toBe(false);
  // Each character has three bytes in UTF-8.
  expect(await store.set("a", "字".repeat(334), 60, "alice")).toBe(false);
  expect(asked).toEqual([]);
  expect(reported).toEqual([]);
  expect(await store.get("a")).toBe("x".repeat(1000));
});

test("only a store that has failed is checked", async () => {
  const { store, state, asked } = troubled();
  await store.check();
  expect(asked).toEqual([]);
  state.mode = "down";
  await expect(store.get("a")).rejects.toEqual(UNAVAILABLE);
  await expect(store.check()).rejects.toEqual(UNAVAILABLE);
  state.mode = "well";
  await store.check();
  await store.check();
  expect(asked).toEqual(["get", "get", "get"]);
});

test("if a loss only costs quality, a store that is down behaves as empty", async () => {
  const { store, state } = troubled();
  const forgiving = createForgivingStore(store);
  await forgiving.set("a", "x", 60, "alice");
  expect(await forgiving.get("a")).toBe("x");
  state.mode = "down";
  expect(await forgiving.get("a")).toBe(undefined);
  expect(await forgiving.set("a", "y", 60, "alice")).toBe(false);
  await forgiving.delete("a");
});

describe("after three failures in a row", () => {
  async function failThrice() {
    const all = troubled();
    all.state.mode = "down";
    for (const key of ["a", "b", "c"]) await all.store.get(key).catch(() => {});
    all.asked.length = 0;
    all.reported.length = 0;
    return all;
  }

  test("the store is not used for a second, and lookups are misses", async () => {
    const { store, state, asked, reported } = await failThrice();
    state.mode = "well";
    state.now += 999;
    await expect(store.get("a")).rejects.toEqual(UNAVAILABLE);
    expect(asked).toEqual([]);
    expect(reported).toEqual(["get resting"]);
  });

  test("then it is retried, and its recovery is reported", async () => {
    const { store, state, reported } = await failThrice();
    state.mode = "well";
    state.now += 1000;
    await store.set("a", "x", 60, "alice");
    expect(await store.get("a")).toBe("x");
    expect(reported).toEqual(["recovered"]);
  });

  test("a failure then pauses it again at once", async () => {
    const { store, state, asked, reported } = await failThrice();
    state.now += 1000;
    await store.get("a").catch(() => {});
    await store.get("b").catch(() => {});
    expect(asked).toEqual(["get"]);
    expect(reported).toEqual(["get error connection refused", "get resting"]);
  });
});

test("failures with successes between them do not pause it", async () => {
  const { store, state, asked } = troubled();
  for (let round = 0; round < 5; round++) {
    state.mode = "down";
    await store.get("a").catch(() => {});
    state.mode = "well";
    await store.get("a");
  }
  expect(asked.length).toBe(10);
});

describe("S24: an error that the store has answered", () => {
  test("never pauses it, and is reported as a refusal", async () => {
    const { store, state, asked, reported } = troubled();
    state.refused.add("set");
    for (let times = 0; times < 10; times++) {
      await expect(store.set("a", "x", 60, "alice")).rejects.toMatchObject({
        name: "StoreError",
        kind: "unavailable",
        message: "The store has refused the operation.",
      });
    }
    expect(await store.get("a")).toBe(undefined);
    expect(asked.length).toBe(11);
    expect(new Set(reported)).toEqual(new Set(["set refused it answered: OOM"]));
  });

  test("of one entry among others is reported as failing once, and its end a second after the last", async () => {
    const { store, state, reported } = troubled();
    for (let times = 0; times < 3; times++) {
      state.refused.add("set");
      await store.set("a", "x", 60, "alice").catch(() => {});
      state.refused.clear();
      await store.set("b", "x", 60, "bob");
      state.now += 500;
    }
    expect(reported).toEqual(Array.from({ length: 3 }, () => "set refused it answered: OOM"));
    state.now += 500;
    await store.get("b");
    expect(reported.at(-1)).toBe("recovered");
  });

  test("between outages ends their row: the store has answered", async () => {
    const { store, state, asked } = troubled();
    for (let times = 0; times < 5; times++) {
      state.mode = "down";
      await store.get("a").catch(() => {});
      state.refused.add("get");
      await store.get("a").catch(() => {});
      state.refused.clear();
    }
    expect(asked.length).toBe(10);
  });
});

describe("reads and writes", () => {
  test("are paused apart", async () => {
    const { store, state, asked } = troubled();
    await store.set("a", "x", 60, "alice");
    state.mode = "down";
    for (let times = 0; times < 4; times++) await store.set("a", "y", 60, "alice").catch(() => {});
    state.mode = "well";
    asked.length = 0;
    expect(await store.get("a")).toBe("x");
    await expect(store.set("a", "y", 60, "alice")).rejects.toEqual(UNAVAILABLE);
    await expect(store.delete("a")).rejects.toEqual(UNAVAILABLE);
    expect(asked).toEqual(["get"]);
  });

  test("have recovered only together", async () => {
    const { store, state, reported } = troubled();
    state.refused.add("set");
    await store.set("a", "x", 60, "alice").catch(() => {});
    state.now += 60_000;
    await store.get("a");
    expect(reported).not.toContain("recovered");
    state.refused.clear();
    await store.set("a", "x", 60, "alice");
    expect(reported.at(-1)).toBe("recovered");
  });

  test("are checked by the operation that has failed: a store that can only be read promises nothing", async () => {
    const { store, state, asked } = troubled();
    state.refused.add("set");
    await store.set("a", "x", 60, "alice").catch(() => {});
    asked.length = 0;
    await expect(store.check()).rejects.toEqual(UNAVAILABLE);
    expect(asked).toEqual(["set"]);
    state.refused.clear();
    await store.check();
    await store.check();
    expect(asked).toEqual(["set", "set"]);
  });
});
