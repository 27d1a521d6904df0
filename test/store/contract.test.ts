/** One contract for all stores. Cloudflare's own KV and D1 have it in `kv-store.test.ts` and `d1-store.test.ts`. */
import { afterAll, beforeAll, describe, onTestFinished, vi } from "vitest";
import { createD1Store, createKvStore, createMemoryStore } from "../../src/index.ts";
import { openStore } from "../../src/node/index.ts";
import { testSettings } from "../helpers/gateway.ts";
import { HAS_POSTGRES, startPostgres, type TestPostgres } from "../helpers/postgres.ts";
import { HAS_REDIS, startRedis, type TestRedis } from "../helpers/redis.ts";
import { createSimulatedD1 } from "../helpers/simulated-d1.ts";
import { createSimulatedKv } from "../helpers/simulated-kv.ts";
import { createTableStore, openTestFile, temporaryFile } from "../helpers/sqlite.ts";
import { testStoreContract } from "../helpers/store-contract.ts";

const LIMITS = { maxEntries: 1000, maxBytes: 40_000_000 };

function createClock() {
  let now = 1_000_000;
  return { now: () => now, pass: (ms: number) => void (now += ms) };
}

/** Opens the store of a server, as the gateway does. */
async function openServer(url: string) {
  const settings = {
    store: url,
    storeTimeoutMs: 30_000,
    storeMaxEntries: LIMITS.maxEntries,
    storeMaxBytes: LIMITS.maxBytes,
    storeMaxEntryBytes: 10_000_000,
  };
  const opened = await openStore(testSettings(settings));
  onTestFinished(() => opened.close());
  return opened.store;
}

describe("memory", () => {
  const { now, pass } = createClock();
  testStoreContract({ open: () => createMemoryStore({ ...LIMITS, now }), pass });
});

describe("SQLite", () => {
  testStoreContract({ open: () => openTestFile(temporaryFile()) });
});

describe("SQLite's tables", () => {
  const { now, pass } = createClock();
  testStoreContract({ open: () => createTableStore({ ...LIMITS, now }), pass });
});

describe("KV as it is in production", () => {
  testStoreContract({
    open() {
      vi.useFakeTimers({ toFake: ["Date"] });
      onTestFinished(() => void vi.useRealTimers());
      return createKvStore(createSimulatedKv().at("here"));
    },
    pass: (ms) => void vi.advanceTimersByTime(ms),
  });
});

describe("D1 with its limits", () => {
  testStoreContract({
    open() {
      vi.useFakeTimers({ toFake: ["Date", "performance"] });
      onTestFinished(() => void vi.useRealTimers());
      return createD1Store(createSimulatedD1());
    },
    pass: (ms) => void vi.advanceTimersByTime(ms),
  });
});

describe.skipIf(!HAS_REDIS)("Redis (skipped where redis-server is not installed)", () => {
  let redis: TestRedis;
  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis.kill());

  testStoreContract({
    open: () => openServer(redis.url),
  });
});

describe.skipIf(!HAS_POSTGRES)("PostgreSQL (skipped where PostgreSQL is not installed)", () => {
  let postgres: TestPostgres;
  beforeAll(async () => {
    postgres = await startPostgres();
  }, 60_000);
  afterAll(() => postgres.remove());

  testStoreContract({
    open: () => openServer(postgres.url),
  });
});
