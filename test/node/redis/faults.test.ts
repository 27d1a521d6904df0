/** A Redis, or a proxy before it, that does not keep to the protocol. */
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { openStore, type OpenStore } from "../../../src/node/index.ts";
import type { Store } from "../../../src/index.ts";
import { testSettings } from "../../helpers/gateway.ts";
import {
  NIL,
  type ScriptedRedis,
  startScriptedRedis,
  toBulk,
} from "../../helpers/scripted-redis.ts";

let redis: ScriptedRedis;
let opened: OpenStore;
let store: Store;

beforeEach(async () => {
  redis = await startScriptedRedis();
  opened = await openStore(
    testSettings({ store: redis.url, storeTimeoutMs: 20_000, storeMaxEntryBytes: 1_000_000 }),
  );
  ({ store } = opened);
});
afterEach(async () => {
  await redis.close();
  await opened.close();
});

const UNREADABLE = "";
const isGet = ([name]: readonly string[]) => name?.toUpperCase() === "GET";
const isSet = ([name]: readonly string[]) => name?.toUpperCase() === "SET";

async function storeTenants(): Promise<readonly string[]> {
  const tenants = Array.from({ length: 20 }, (_, n) => `tenant-${n}`);
  await Promise.all(tenants.map((tenant) => store.set(`response:${tenant}`, tenant, 60, tenant)));
  return tenants;
}

describe("S17: a surplus answer", () => {
  test("between answers gives no tenant another's entry, however many reads follow", async () => {
    const tenants = await storeTenants();
    let reads = 0;
    redis.answer = (command, carryOut) => {
      if (!isGet(command) || ++reads !== 7) return carryOut();
      return NIL + carryOut();
    };
    for (let round = 0; round < 10; round++) {
      const read = await Promise.all(tenants.map((tenant) => store.get(`response:${tenant}`)));
      for (const [at, value] of read.entries()) expect([tenants[at], undefined]).toContain(value);
    }
    const last = await Promise.all(tenants.map((tenant) => store.get(`response:${tenant}`)));
    expect(last).toEqual(tenants);
  });

  test.each([
    ["nil", NIL],
    ["a value", toBulk("another's")],
    ["OK", "+OK\r\n"],
    ["an error", "-ERR why\r\n"],
    ["garbage", "HTTP/1.1 400 Bad Request\r\n\r\n"],
  ])("%s on an idle connection closes that connection and nothing else", async (_, bytes) => {
    const tenants = await storeTenants();
    const before = redis.opened;
    redis.send(bytes);
    await expect.poll(() => redis.open).toBe(0);
    const read = await Promise.all(tenants.map((tenant) => store.get(`response:${tenant}`)));
    expect(read).toEqual(tenants);
    expect(redis.opened).toBe(before + 1);
  });
});

describe("S28: an answer of the wrong form is not believed", () => {
  test.each([
    ["an integer", ":1\r\n"],
    ["nil", NIL],
    ["a value", toBulk("OK")],
    ["another status", "+QUEUED\r\n"],
    ["garbage", "OK\r\n"],
  ])("%s for a write: it was not stored", async (_, bytes) => {
    redis.answer = (command, carryOut) => (isSet(command) ? bytes : carryOut());
    await expect(store.set("response:1", "x", 60, "a")).rejects.toThrow(
      `Cannot reach Redis at ${redis.url} (its answer breaks the protocol). ` +
        "Check that it is running and that the setting store is right.",
    );
  });

  test.each([
    ["arrays in arrays", "*1\r\n".repeat(200_000)],
    ["an array", "*1\r\n$1\r\nx\r\n"],
    ["a length that is no number", "$1e3\r\n"],
    ["a negative length", "$-2\r\n"],
    ["a value without its end", "$1\r\nxyz"],
    ["a line without end", "+".padEnd(100_000, "x")],
    ["a status", "+OK\r\n"],
  ])("%s for a read: it fails, and the next one succeeds", async (_, bytes) => {
    await store.set("response:1", "x", 60, "a");
    redis.answer = (command, carryOut) => (isGet(command) ? bytes : carryOut());
    await expect(store.get("response:1")).rejects.toThrow(
      `Cannot reach Redis at ${redis.url} (its answer breaks the protocol). ` +
        "Check that it is running and that the setting store is right.",
    );
    redis.answer = (_command, carryOut) => carryOut();
    expect(await store.get("response:1")).toBe("x");
  });
});

test("S28: a value that never ends is not read: only its own length counts, and other reads go on", async () => {
  await Promise.all(["1", "2"].map((id) => store.set(`response:${id}`, id, 60, "a")));
  redis.answer = (command, carryOut) =>
    command[1]?.endsWith("1") ? `$4000000000\r\n${"x".repeat(100_000)}` : carryOut();
  const read = await Promise.all(["2", "1", "2"].map((id) => store.get(`response:${id}`)));
  expect(read).toEqual(["2", UNREADABLE, "2"]);
});

describe("a value that differs from the one stored under its key", () => {
  test.each([
    ["an earlier version's, without its key", '{"id":"x"}'],
    ["another entry's", "harmony-gateway:response:2\nx"],
    ["empty", ""],
  ])("%s is not readable, and its reader alone is affected", async (_, value) => {
    await store.set("response:3", "x", 60, "a");
    redis.values.set("harmony-gateway:response:1", value);
    for (let times = 0; times < 3; times++) expect(await store.get("response:1")).toBe(UNREADABLE);
    expect(await store.get("response:3")).toBe("x");
  });
});

describe("S24: an answered error", () => {
  test("of the wrong type makes the entry unreadable", async () => {
    redis.answer = () => "-WRONGTYPE Operation against a key holding the wrong kind of value\r\n";
    expect(await store.get("response:1")).toBe(UNREADABLE);
  });

  test.each([
    [
      "OOM command not allowed when used memory > 'maxmemory'.",
      "OOM",
      "OOM command not allowed when used memory",
    ],
    [
      "ERR unknown command 'SET', with args beginning with: 'key' 'A secret prompt'",
      "ERR",
      "ERR unknown command",
    ],
    ["", "", ""],
  ])("%j is reported without its quotations", async (text, code, said) => {
    redis.answer = () => `-${text}\r\n`;
    const refused = store.set("response:1", "A secret prompt", 60, "a");
    await expect(refused).rejects.toMatchObject({
      name: "StoreRefusal",
      code,
      message: `Redis at ${redis.url} answered: ${said}.`,
    });
    expect(redis.opened).toBe(1);
  });
});

describe("S19: a connection that is of no use is replaced", () => {
  test("when it stays silent: operations that wait fail, and later ones succeed", async () => {
    await store.set("response:1", "x", 60, "a");
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      redis.answer = (_command, carryOut, connection) =>
        connection === 1 ? undefined : carryOut();
      const asked = store.get("response:1").catch((error: unknown) => error);
      await expectCommands(2);
      await vi.advanceTimersByTimeAsync(3 * 20_000);
      // The caller may have given up, but the store cannot know that from a stopped clock.
      expect(await asked).toBe("x");
      expect(redis.opened).toBe(2);
    } finally {
      vi.useRealTimers();
    }
  });

  test("when its server has become a replica, but not with every refused write", async () => {
    await store.set("response:1", "x", 60, "a");
    const clock = vi.spyOn(performance, "now");
    try {
      redis.answer = (command, carryOut, connection) =>
        isSet(command) && connection < 3 ? "-READONLY You can't write\r\n" : carryOut();
      const write = () => store.set("response:1", "y", 60, "a");
      const refused = { name: "StoreRefusal", code: "READONLY" };
      clock.mockImplementation(() => 0);
      await expect(write()).rejects.toMatchObject(refused);
      expect(redis.opened).toBe(1);
      clock.mockImplementation(() => 1e9);
      await expect(write()).rejects.toMatchObject(refused);
      await expect(write()).rejects.toMatchObject(refused);
      expect(redis.opened).toBe(2);
      expect(await store.get("response:1")).toBe("x");
      clock.mockImplementation(() => 1e9 + 1_000);
      expect(await write()).toBe(true);
      expect(redis.opened).toBe(3);
    } finally {
      clock.mockRestore();
    }
  });

  test("when it is closed: commands without an answer are sent again", async () => {
    await store.set("response:1", "x", 60, "a");
    let reads = 0;
    redis.answer = (command, carryOut) => {
      // The server closes the connection instead of an answer.
      if (isGet(command) && ++reads === 1) redis.hangUp();
      return carryOut();
    };
    expect(await store.get("response:1")).toBe("x");
    expect(redis.opened).toBe(2);
  });

  test("an operation whose caller has given up is not sent again", async () => {
    await store.set("response:1", "x", 60, "a");
    const clock = vi.spyOn(performance, "now");
    try {
      redis.answer = (command) => {
        if (isSet(command)) {
          clock.mockImplementation(() => 1e9);
          redis.hangUp();
        }
        return undefined;
      };
      await expect(store.set("response:1", "y", 60, "a")).rejects.toThrow(
        `Cannot reach Redis at ${redis.url} (connection closed). ` +
          "Check that it is running and that the setting store is right.",
      );
      expect(redis.commands.filter(isSet)).toHaveLength(2);
    } finally {
      clock.mockRestore();
    }
  });
});

async function expectCommands(count: number): Promise<void> {
  while (redis.commands.length < count) {
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  }
}
