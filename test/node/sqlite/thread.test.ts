/** The thread of the database, and the store while the thread is busy or gone, or the disk is full. */
import { execFile } from "node:child_process";
import { readFileSync, statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import type { Worker } from "node:worker_threads";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import type { Store } from "../../../src/index.ts";
import { createRandom } from "../../helpers/random-numbers.ts";
import { openTestFile, temporaryFile } from "../../helpers/sqlite.ts";

test("operations that wait when it is closed are done first", async () => {
  const store = await openTestFile(temporaryFile());
  const writes = Array.from({ length: 100 }, (_, n) => store.set(`k${n}`, "x", 60, "alice"));
  await store.close();
  expect(await Promise.all(writes)).toEqual(writes.map(() => true));
});

test("when the thread ends, waiting operations fail, and the next one starts another", async () => {
  const threads: Worker[] = [];
  const note = (thread: Worker) => void threads.push(thread);
  process.on("worker", note);
  onTestFinished(() => void process.off("worker", note));
  const path = temporaryFile();
  const store = await openTestFile(path);
  await store.set("a", "x", 60, "alice");
  const waiting = Promise.allSettled([store.get("a"), store.get("a")]);
  await threads[0]?.terminate();
  const ended = new Error(`store sqlite:${path}: the thread has ended.`);
  // The thread may have answered before it ended.
  const reasons = (await waiting).map((each) => (each.status === "rejected" ? each.reason : ended));
  expect(reasons).toEqual([ended, ended]);
  expect(await store.get("a")).toBe("x");
  expect(threads).toHaveLength(2);
});

test("more operations than may wait are refused at once", async () => {
  const store = await openTestFile(temporaryFile());
  const value = "x".repeat(20_000_000);
  const results = await Promise.allSettled(
    ["a", "b", "c", "d"].map((key) => store.set(key, value, 60, "alice")),
  );
  expect(results.map(({ status }) => status)).toEqual([
    "fulfilled",
    "fulfilled",
    "fulfilled",
    "rejected",
  ]);
  expect(results[3]).toHaveProperty("reason.message", "too many operations are waiting for it");
  expect(await store.set("d", value, 60, "alice")).toBe(true);
});

/** Fills a store in a process that may not write files beyond a size: `ulimit -f` counts blocks of 1,024 bytes. */
const FILL = `
  import { openSqliteStore } from ${JSON.stringify(new URL("../../../src/node/sqlite/sqlite-store.ts", import.meta.url).href)};
  const limits = { maxEntries: 10_000, maxBytes: 64_000_000 };
  const store = await openSqliteStore(process.argv[1], { timeoutMs: 10_000, limits, quotaOf: () => ({}) });
  const value = "x".repeat(50_000);
  let failure;
  let written = 0;
  while (failure === undefined) {
    await store.set("key" + written, value, 3600, "alice").then(() => written++, (error) => { failure = error; });
  }
  const first = await store.get("key0");
  const counts = await store.counts();
  console.log(JSON.stringify({
    name: failure.name, isRead: first === value, isConsistent: counts.entries === written, isSome: written > 0,
  }));
  await store.close();
`;

test.skipIf(process.platform === "win32")(
  "a full disk refuses writes, loses nothing and is read from",
  async () => {
    const path = temporaryFile();
    const command = 'ulimit -f 2000; exec "$0" --input-type=module -e "$1" "$2"';
    const run = promisify(execFile);
    const { stdout, stderr } = await run("bash", ["-c", command, process.execPath, FILL, path]);
    expect(stderr).toBe("");
    expect(JSON.parse(stdout)).toEqual({
      name: "StoreRefusal",
      isRead: true,
      isConsistent: true,
      isSome: true,
    });
    const store = await openTestFile(path);
    expect(await store.get("key0")).toBe("x".repeat(50_000));
  },
);

const SECRET = "the-secret-of-alice";

/** Writes, replaces and deletes entries of all sizes, so that SQLite moves content between pages. */
async function fill(store: Store): Promise<void> {
  const random = createRandom();
  for (let n = 0; n < 4000; n++) {
    const [tenant, text] = random(2) === 0 ? ["alice", SECRET] : ["bob", "bob's entry"];
    const key = `${tenant}${random(600)}`;
    const size = random(4) === 0 ? random(1500) : random(20);
    if (random(6) === 0) await store.delete(key);
    else await store.set(key, text.repeat(size), 3600, tenant);
  }
}

function holds(path: string, text: string): boolean {
  return ["", "-wal"].some((suffix) => readFileSync(path + suffix).includes(text));
}

test("nothing of a deleted tenant is left in the file or in its log when it is written anew", async () => {
  const path = temporaryFile();
  // A gateway has the file open, too.
  const [store, gateway] = [await openTestFile(path), await openTestFile(path)];
  await fill(gateway);
  await gateway.set("bob", "bob's entry", 3600, "bob");
  const { tenants } = await store.counts();
  const held = tenants.find(({ tenant }) => tenant === "alice");
  const { entries, bytes } = await store.deleteTenant("alice");
  expect({ tenant: "alice", entries, bytes }).toEqual(held);
  // Copies are left in free space where SQLite has moved content.
  expect(holds(path, SECRET)).toBe(true);
  expect(await store.rewrite()).toBe(true);
  expect(holds(path, SECRET)).toBe(false);
  expect(holds(path, "alice")).toBe(false);
  expect(await gateway.get("bob")).toBe("bob's entry");
  expect((await gateway.counts()).tenants.map(({ tenant }) => tenant)).toEqual(["bob"]);
});

test("while another process reads the file, its log is not emptied, and the caller knows", async () => {
  const path = temporaryFile();
  const store = await openTestFile(path, { timeoutMs: 50 });
  await store.set("a", SECRET, 60, "alice");
  const reader = new DatabaseSync(path);
  reader.exec("BEGIN");
  reader.prepare("SELECT count(*) FROM entries").get();
  await store.deleteTenant("alice");
  expect(await store.rewrite()).toBe(false);
  reader.exec("COMMIT");
  reader.close();
  expect(await store.rewrite()).toBe(true);
  expect(holds(path, SECRET)).toBe(false);
});

test("an evicted and a replaced value are overwritten where they stood", async () => {
  const path = temporaryFile();
  const store = await openTestFile(path, { limits: { maxEntries: 2, maxBytes: 1_000_000 } });
  await store.set("replaced", SECRET.repeat(500), 60, "alice");
  await store.set("replaced", "x", 60, "alice");
  await store.set("evicted", SECRET.repeat(500), 60, "alice");
  for (const key of ["a", "b"]) await store.set(key, "x", 60, "alice");
  // Closing moves the log into the file.
  await store.close();
  expect(readFileSync(path).includes(SECRET)).toBe(false);
});

test("the space of deleted entries goes back to the file system", async () => {
  const path = temporaryFile();
  const store = await openTestFile(path);
  for (let n = 0; n < 100; n++) await store.set(`k${n}`, "x".repeat(100_000), 3600, "alice");
  await store.deleteTenant("alice");
  const before = statSync(path).size;
  await store.prune();
  expect(before).toBeGreaterThan(10_000_000);
  const { fileBytes, entries } = await store.counts();
  expect(entries).toBe(0);
  expect(fileBytes).toBeLessThan(before);
});

test("a tenant's quota is that of its settings", async () => {
  const store = await openTestFile(temporaryFile(), {
    quotaOf: (tenant) => (tenant === "bob" ? { maxEntries: 1 } : {}),
  });
  for (const key of ["1", "2"]) {
    for (const tenant of ["al", "bob"]) await store.set(tenant + key, "x", 60, tenant);
  }
  expect((await store.counts()).tenants).toEqual([
    { tenant: "al", entries: 2, bytes: 8 },
    { tenant: "bob", entries: 1, bytes: 5 },
  ]);
});
