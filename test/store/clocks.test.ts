/** S23: waits and lifetimes do not depend on the system's clock, which may be set in either direction. */
import { expect, test, vi } from "vitest";
import type { Store } from "../../src/store/store.ts";
import { toMemoryStore } from "../../src/store/reasoning.ts";
import { testSettings } from "../helpers/gateway.ts";
import { settled, useFakeTime } from "../helpers/fake-time.ts";
import { scriptedEngine } from "../helpers/scripted-engine.ts";
import { MODEL, responsesApp } from "../api/responses/support.ts";

useFakeTime();

const HOUR = 3_600_000;

test.each([HOUR, -HOUR])("an entry in memory survives a jump by %i ms and back", async (jump) => {
  const store = toMemoryStore(testSettings({}));
  await store.set("a", "x", 60, "alice");
  vi.setSystemTime(Date.now() + jump);
  expect(await store.get("a")).toBe("x");
  vi.setSystemTime(Date.now() - jump);
  expect(await store.get("a")).toBe("x");
  await vi.advanceTimersByTimeAsync(60_001);
  expect(await store.get("a")).toBe(undefined);
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
