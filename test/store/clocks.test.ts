/** S23: a clock that jumps causes nothing that cannot be undone. */
import { expect, test, vi } from "vitest";
import { createD1Store, createKvStore, type Store } from "../../src/index.ts";
import { openStore } from "../../src/node/index.ts";
import { testSettings } from "../helpers/gateway.ts";
import { settled, useFakeTime } from "../helpers/fake-time.ts";
import { scriptedEngine } from "../helpers/scripted-engine.ts";
import { openExpiryClock } from "../../src/store/expiry-clock.ts";
import { createSimulatedKv } from "../helpers/simulated-kv.ts";
import { createSimulatedD1 } from "../helpers/simulated-d1.ts";
import { createTableStore } from "../helpers/sqlite.ts";
import { MODEL, responsesApp } from "../api/responses/support.ts";

useFakeTime();

const HOUR = 3_600_000;

test.each([HOUR, -HOUR])("an entry in memory survives a jump by %i ms and back", async (jump) => {
  const { store } = await openStore(testSettings({}));
  await store.set("a", "x", 60, "alice");
  vi.setSystemTime(Date.now() + jump);
  expect(await store.get("a")).toBe("x");
  vi.setSystemTime(Date.now() - jump);
  expect(await store.get("a")).toBe("x");
  await vi.advanceTimersByTimeAsync(60_001);
  expect(await store.get("a")).toBe(undefined);
});

test("KV takes writes of a key although the clock is set back", async () => {
  const store = createKvStore({ ...createSimulatedKv().at("here"), put: async () => {} });
  await store.set("a", "x", 3600, "alice");
  vi.setSystemTime(Date.now() - HOUR);
  expect(await settled(store.set("a", "y", 3600, "alice"))).toBe(true);
});

test.each([HOUR, -HOUR])(
  "a store that failed is used again after a second, despite a jump by %i ms",
  async (jump) => {
    const state = { isDown: true };
    const answer = async () => {
      if (state.isDown) throw new Error("connection refused");
      return undefined;
    };
    const store: Store = {
      get: answer,
      set: async () => (await answer()) ?? true,
      delete: answer,
    };
    const app = responsesApp({
      engine: scriptedEngine(() => "<|channel|>final<|message|>Hi.<|return|>"),
      store,
    });
    const status = async () => {
      const body = { model: MODEL, input: "Hi." };
      return (await settled(app.send("POST", "/v1/responses", body))).status;
    };
    for (let times = 0; times < 3; times++) expect(await status()).toBe(503);
    state.isDown = false;
    expect(await status()).toBe(503);
    vi.setSystemTime(Date.now() + jump);
    expect(await status()).toBe(503);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await status()).toBe(200);
  },
);

test.each([48 * HOUR, -48 * HOUR])(
  "a jump by %i ms removes nothing from a file or D1 that lives by the monotonic clock",
  async (jump) => {
    const d1 = createSimulatedD1();
    const stores = [
      createTableStore({
        maxEntries: 100,
        maxBytes: 100_000,
        now: Date.now,
        clock: openExpiryClock(),
      }),
      createD1Store(d1),
    ];
    for (const store of stores) await store.set("before", "x", 3600, "alice");
    vi.setSystemTime(Date.now() + jump);
    await vi.advanceTimersByTimeAsync(61_000);
    for (const store of stores) {
      expect(await store.get("before")).toBe("x");
      // The entry is written under the wrong time, and read under the right one.
      await store.set("during", "x", 3600, "alice");
    }
    vi.setSystemTime(Date.now() - jump);
    await vi.advanceTimersByTimeAsync(61_000);
    for (const store of stores) {
      await store.set("after", "x", 3600, "alice");
      for (const key of ["before", "during", "after"]) expect(await store.get(key)).toBe("x");
    }
    expect(d1.rows).toBe(3);
  },
);

test("a jump that lasts is believed after an hour, and then entries expire by it", async () => {
  const store = createTableStore({
    maxEntries: 100,
    maxBytes: 100_000,
    now: Date.now,
    clock: openExpiryClock(),
  });
  await store.set("a", "x", 24 * 3600, "alice");
  vi.setSystemTime(Date.now() + 48 * HOUR);
  expect(store.prune()).toBe(0);
  await vi.advanceTimersByTimeAsync(HOUR - 1_000);
  expect(store.prune()).toBe(0);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(store.prune()).toBe(1);
});
