import { describe, expect, onTestFinished, test, vi } from "vitest";
import { ProcessState } from "../../src/lazy.ts";
import { createLog } from "../../src/telemetry/log.ts";
import { createRegistry } from "../../src/telemetry/metrics.ts";
import { createMeters } from "../../src/telemetry/meters.ts";
import { openReasoningStore, createCipher, watchStore } from "../../src/store/reasoning.ts";
import { createMemoryStore } from "../../src/index.ts";
import { testSettings } from "../helpers/gateway.ts";

const BOUND = { tenant: "alice", purpose: "reasoning" };
const KEY = Buffer.alloc(32, "k").toString("base64url");

function watching() {
  const logged: Record<string, unknown>[] = [];
  const registry = createRegistry();
  const clock = { now: 0 };
  const deps = {
    log: createLog({ level: "info", now: () => 0, write: (line) => logged.push(JSON.parse(line)) }),
    meters: createMeters(registry),
    now: () => clock.now,
  };
  return { deps, logged, clock, metrics: () => registry.toText() };
}

const memory = () => createMemoryStore({ maxEntries: 10, maxBytes: 1000, now: Date.now });

test("a store's failures are logged when they begin and end, and each is counted", async () => {
  const { deps, logged, clock, metrics } = watching();
  let down = true;
  const healthy = memory();
  const get = async (key: string) => {
    if (down) throw new Error("connection refused");
    return healthy.get(key);
  };
  const store = watchStore({ ...healthy, get }, testSettings(), deps);
  for (let times = 0; times < 5; times++) {
    await expect(store.get("a")).rejects.toMatchObject({ name: "StoreError" });
  }
  down = false;
  clock.now += 1000;
  await store.get("a");
  expect(logged.map(({ event, level, message }) => ({ event, level, message }))).toEqual([
    { event: "store failing", level: "warn", message: "connection refused" },
    { event: "store answering again", level: "info", message: undefined },
  ]);
  expect(metrics()).toContain('store_failures_total{operation="get",failure="error"} 3\n');
  expect(metrics()).toContain('store_failures_total{operation="get",failure="resting"} 2\n');
});

test("a store that answers too late is logged with the setting to raise", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const { deps, logged } = watching();
  const never = { ...memory(), get: () => new Promise<undefined>(() => {}), timeoutMs: 3000 };
  const withDefault = watchStore(never, testSettings(), deps)
    .get("a")
    .catch(() => {});
  await vi.advanceTimersByTimeAsync(3000);
  await withDefault;
  const withSetting = watchStore(never, testSettings({ storeTimeoutMs: 20 }), deps);
  const late = withSetting.get("a").catch(() => {});
  await vi.advanceTimersByTimeAsync(20);
  await late;
  expect(logged.map(({ message }) => message)).toEqual([
    "There was no answer within 3000 ms (setting storeTimeoutMs).",
    "There was no answer within 20 ms (setting storeTimeoutMs).",
  ]);
});

describe("encryption keys", () => {
  test("are this process's own if none are configured, which is logged at first use", async () => {
    const { deps, logged } = watching();
    const cipher = createCipher(testSettings(), deps.log, new ProcessState());
    expect(logged).toEqual([]);
    const sealed = await cipher.seal("hm", BOUND);
    await cipher.seal("hm", BOUND);
    expect(logged).toMatchObject([{ level: "warn", event: "sealing without sealingKeys" }]);
    expect(await cipher.open(sealed, BOUND)).toEqual({ opened: true, text: "hm" });
    const restarted = createCipher(testSettings(), deps.log, new ProcessState());
    expect(await restarted.open(sealed, BOUND)).toEqual({ opened: false, reason: "unknown-key" });
  });

  test("from the settings decrypt after a restart", async () => {
    const { deps, logged } = watching();
    const settings = testSettings({ sealingKeys: [KEY] });
    const sealed = await createCipher(settings, deps.log, new ProcessState()).seal("hm", BOUND);
    expect(
      await createCipher(settings, deps.log, new ProcessState()).open(sealed, BOUND),
    ).toMatchObject({
      text: "hm",
    });
    expect(logged).toEqual([]);
  });
});

test("outcomes and refused seals are counted", async () => {
  const { deps, metrics } = watching();
  const settings = testSettings({ sealingKeys: [KEY] });
  const reasoningStore = openReasoningStore(
    watchStore(memory(), settings, deps),
    createCipher(settings, deps.log, new ProcessState()),
    settings,
    deps,
  );
  await reasoningStore.restore("alice", [
    { sent: ["hm"], sealed: [], callIds: ["a"] },
    { sent: [], sealed: ["forged"], callIds: ["b"] },
  ]);
  expect(metrics()).toContain('reasoning_returned_total{outcome="sent"} 1\n');
  expect(metrics()).toContain('reasoning_returned_total{outcome="lost"} 1\n');
  expect(metrics()).toContain('seals_refused_total{reason="malformed"} 1\n');
});
