import { Redis } from "ioredis";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { SettingsError } from "../../src/index.ts";
import { openStore, type OpenStore } from "../../src/node/index.ts";
import { testSettings } from "../helpers/gateway.ts";
import { HAS_REDIS, startRedis, type TestRedis } from "../helpers/redis.ts";

const opened: OpenStore[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((each) => each.close()));
});

async function open(settings: Readonly<Record<string, unknown>>): Promise<OpenStore["store"]> {
  const store = await openStore(testSettings(settings));
  opened.push(store);
  return store.store;
}

test("the memory store has the limits of the settings", async () => {
  const store = await open({ storeMaxEntries: 2 });
  for (const key of ["a", "b", "c"]) await store.set(key, "x", 60, "alice");
  expect(await Promise.all(["a", "b", "c"].map((key) => store.get(key)))).toEqual([
    undefined,
    "x",
    "x",
  ]);
});

test("a key's quota in memory is that of the settings, or its own", async () => {
  const store = await open({
    keys: [`a:${"a".repeat(64)}`, { name: "b", sha256: "b".repeat(64), storeMaxEntriesPerKey: 1 }],
    storeMaxEntriesPerKey: 2,
    storeMaxBytesPerKey: 1_000,
  });
  const fill = async (tenant: string) => {
    const keys = ["1", "2", "3"].map((n) => tenant + n);
    for (const key of keys) await store.set(key, "x", 60, tenant);
    return Promise.all(keys.map((key) => store.get(key)));
  };
  expect(await fill("a")).toEqual([undefined, "x", "x"]);
  expect(await fill("b")).toEqual([undefined, undefined, "x"]);
  // Filling one quota does not evict entries of the other.
  expect(await store.get("a3")).toBe("x");
  await store.set("large", "x".repeat(1_000), 60, "a");
  expect(await store.get("large")).toBeUndefined();
});

test.each(["kv", "d1"])("%s is on Workers only", async (kind) => {
  await expect(open({ store: `${kind}:STORE` })).rejects.toThrow(
    new SettingsError([
      `store ${kind}: is available on Workers only. On Node, use sqlite:PATH, redis://HOST or postgres://HOST/DATABASE.`,
    ]),
  );
});

test("an unreachable Redis can be opened, and operations report why they fail", async () => {
  const store = await open({ store: "redis://alice:secret@127.0.0.1:1", storeTimeoutMs: 30_000 });
  const reason =
    "Cannot reach Redis at redis://127.0.0.1:1 (connection refused). " +
    "Check that it is running and that the setting store is right.";
  await expect(store.get("a")).rejects.toThrow(reason);
  await expect(store.set("a", "b", 60, "alice")).rejects.toThrow(reason);
  await expect(store.delete("a")).rejects.toThrow(reason);
});

describe.skipIf(!HAS_REDIS)("Redis (skipped where redis-server is not installed)", () => {
  let redis: TestRedis;
  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis.kill());

  test.each(["", "123", "null", '["a"]', "base64:aGk=", "é👩‍🚀\u0000", "x".repeat(1_000_000)])(
    "%.20j is there until it is deleted",
    async (value) => {
      const store = await open({ store: redis.url });
      await store.set("key", value, 60, "alice");
      expect(await store.get("key")).toBe(value);
      await store.delete("key");
      expect(await store.get("key")).toBe(undefined);
    },
  );

  test("entries have the gateway's prefix and expire", async () => {
    const store = await open({ store: redis.url });
    await store.set("reasoning:0af", "x", 3600, "alice");
    const ttls = await redis.ttls();
    const ttl = ttls["harmony-gateway:reasoning:0af"];
    expect(ttl).toBeGreaterThan(3_590_000);
    expect(ttl).toBeLessThanOrEqual(3_600_000);
  });

  test("two open stores share their entries", async () => {
    const [one, other] = [await open({ store: redis.url }), await open({ store: redis.url })];
    await one.set("shared", "x", 60, "alice");
    expect(await other.get("shared")).toBe("x");
  });

  test("credentials and the database of the URL are used", async () => {
    const admin = new Redis(redis.url);
    await admin.call("ACL", "SETUSER", "alice", "on", ">p@ss", "~*", "+@all");
    await admin.select(3);
    try {
      const url = redis.url.replace("redis://", "redis://alice:p%40ss@");
      const store = await open({ store: `${url}/3` });
      await store.set("key", "x", 60, "alice");
      expect(await admin.exists("harmony-gateway:key")).toBe(1);
    } finally {
      admin.disconnect();
    }
  });

  test("wrong credentials are an outage with its reason", async () => {
    const url = redis.url.replace("redis://", "redis://mallory:guess@");
    const store = await open({ store: url, storeTimeoutMs: 30_000 });
    await expect(store.get("a")).rejects.toThrow(
      `Cannot reach Redis at ${redis.url} (WRONGPASS invalid username-password pair or user is disabled). ` +
        "Check that it is running and that the setting store is right.",
    );
  });

  test("an entry of another type is not readable", async () => {
    const admin = new Redis(redis.url);
    await admin.lpush("harmony-gateway:list", "x");
    admin.disconnect();
    const store = await open({ store: redis.url });
    expect(await store.get("list")).toBe("");
  });

  test("operations that follow each other without waiting are answered in order", async () => {
    const store = await open({ store: redis.url });
    const sent = Array.from({ length: 500 }, (_, n) => store.set(`k${n}`, `v${n}`, 60, "alice"));
    await Promise.all(sent);
    const read = await Promise.all(sent.map((_, n) => store.get(`k${n}`)));
    expect(read).toEqual(sent.map((_, n) => `v${n}`));
  });
});
