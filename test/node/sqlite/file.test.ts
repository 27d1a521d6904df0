/** The file of the store: its permissions, files that are refused, and changes of the file while the gateway runs. */
import { chmodSync, mkdirSync, readFileSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { SettingsError } from "../../../src/index.ts";
import { MIGRATIONS, openDatabase, readValue } from "../../../src/node/sqlite/open-database.ts";
import { openTestFile, temporaryFile } from "../../helpers/sqlite.ts";

const isRoot = process.getuid?.() === 0;

/** A file with an entry, closed. */
async function writtenFile(): Promise<string> {
  const path = temporaryFile();
  const store = await openTestFile(path);
  for (let n = 0; n < 50; n++) await store.set(`key${n}`, "x".repeat(2_000), 3600, "alice");
  await store.close();
  return path;
}

function foreign(path: string, sql: string): void {
  const database = new DatabaseSync(path);
  database.exec(sql);
  database.close();
}

test("entries are there when the file is opened again", async () => {
  const path = await writtenFile();
  const store = await openTestFile(path);
  expect(await store.get("key49")).toBe("x".repeat(2_000));
});

test("only the user may read the file and its log", async () => {
  const former = process.umask(0);
  try {
    const path = temporaryFile();
    const store = await openTestFile(path);
    await store.set("a", "x", 60, "alice");
    const modes = ["", "-wal", "-shm"].map((suffix) => statSync(path + suffix).mode & 0o777);
    expect(modes).toEqual([0o600, 0o600, 0o600]);
  } finally {
    process.umask(former);
  }
});

const DAMAGED =
  "is damaged. Move it away, together with the files that end in -wal and -shm; the gateway then begins a new one.";

test.each<[string, string, (path: string) => unknown]>([
  ["a folder", "is a folder. Name a file in it.", (path) => mkdirSync(path)],
  ["text", DAMAGED, (path) => writeFileSync(path, "Dear diary,\n".repeat(500))],
  [
    "another program's database",
    "is the database of another program. Name another file.",
    (path) => foreign(path, "CREATE TABLE visits (url TEXT)"),
  ],
  [
    "another program's empty database",
    "is the database of another program. Name another file.",
    (path) => foreign(path, "PRAGMA application_id = 7"),
  ],
  [
    "a newer gateway's database",
    "was written by a newer gateway (version 9; this one knows 1). Start that gateway, or name another file.",
    async (path) => {
      await (await openTestFile(path)).close();
      foreign(path, "PRAGMA user_version = 9");
    },
  ],
])("%s is refused in a sentence", async (_, says, make) => {
  const path = temporaryFile();
  await make(path);
  await expect(openTestFile(path)).rejects.toThrow(
    new SettingsError([`store sqlite:${path}: ${says}`]),
  );
});

test("a foreign file is not changed", async () => {
  const path = temporaryFile();
  foreign(path, "CREATE TABLE visits (url TEXT)");
  const before = readFileSync(path);
  await expect(openTestFile(path)).rejects.toThrow("another program");
  expect(readFileSync(path).equals(before)).toBe(true);
});

test.each([
  ["the middle overwritten", (path: string, size: number) => overwrite(path, size / 2)],
  ["the end cut off", (path: string, size: number) => truncateSync(path, Math.floor(size / 2))],
])("a damaged file is refused: %s", async (_, damage) => {
  const path = await writtenFile();
  damage(path, statSync(path).size);
  await expect(openTestFile(path)).rejects.toThrow(
    new SettingsError([`store sqlite:${path}: ${DAMAGED}`]),
  );
});

function overwrite(path: string, from: number): void {
  const bytes = readFileSync(path);
  bytes.fill(0xa5, from, from + 8192);
  writeFileSync(path, bytes);
}

test("a file in a folder that does not exist is refused", async () => {
  const path = `${temporaryFile("missing")}/state.db`;
  await expect(openTestFile(path)).rejects.toThrow(
    new SettingsError([`store sqlite:${path}: the folder it would be in does not exist.`]),
  );
});

test.skipIf(isRoot)(
  "a file that this user may not write is refused (skipped where the user is root)",
  async () => {
    const path = await writtenFile();
    chmodSync(path, 0o400);
    await expect(openTestFile(path)).rejects.toThrow(
      new SettingsError([`store sqlite:${path}: this user may not write it.`]),
    );
  },
);

test.skipIf(isRoot)(
  "a file in a folder that this user may not write is refused (skipped where the user is root)",
  async () => {
    const path = temporaryFile();
    chmodSync(dirname(path), 0o500);
    await expect(openTestFile(path)).rejects.toThrow(
      new SettingsError([`store sqlite:${path}: this user may not write it.`]),
    );
  },
);

test("a file that another program has locked can be opened later", async () => {
  const path = await writtenFile();
  const other = new DatabaseSync(path);
  other.exec("BEGIN EXCLUSIVE");
  await expect(openTestFile(path, { timeoutMs: 50 })).rejects.toThrow(
    expect.objectContaining({
      name: "StoreBusyError",
      message: `store sqlite:${path}: another program has locked it.`,
    }),
  );
  other.exec("COMMIT");
  other.close();
  const store = await openTestFile(path);
  expect(await store.get("key0")).toBeDefined();
});

test("while another program has locked it, reads succeed and writes fail as in an outage", async () => {
  const path = await writtenFile();
  const store = await openTestFile(path, { timeoutMs: 50 });
  const other = new DatabaseSync(path);
  other.exec("BEGIN IMMEDIATE");
  expect(await store.get("key0")).toBeDefined();
  const failed: unknown = await store.set("a", "x", 60, "alice").catch((error: unknown) => error);
  expect(failed).toEqual(new Error(`store sqlite:${path}: another program has locked it.`));
  expect(failed).toHaveProperty("name", "Error");
  other.exec("COMMIT");
  other.close();
  expect(await store.set("a", "x", 60, "alice")).toBe(true);
});

test("pages that are damaged while it is open are refused by name, and others are read", async () => {
  const path = await writtenFile();
  const [store, other] = [await openTestFile(path), await openTestFile(path)];
  overwrite(path, statSync(path).size / 2);
  // After a write of another process, the pages in memory are read again.
  await other.set("a", "x", 60, "alice");
  const results = await Promise.allSettled(
    Array.from({ length: 50 }, (_, n) => store.get(`key${n}`)),
  );
  const failed = results.filter((each) => each.status === "rejected");
  for (const { reason } of failed) {
    expect(reason).toMatchObject({
      name: "StoreRefusal",
      code: "CORRUPT",
      message: `store sqlite:${path}: it is damaged.`,
    });
  }
  expect(failed.length).toBeGreaterThan(0);
  expect(failed.length).toBeLessThan(50);
});

test("stores of two processes on one new file share its entries and its bounds", async () => {
  const path = temporaryFile();
  const limits = { maxEntries: 50, maxBytes: 1_000_000 };
  const open = () => openTestFile(path, { limits });
  // More stores make it likelier that two create the file at the same moment.
  const [one, other] = await Promise.all([open(), open(), open(), open(), open(), open()]);
  const writes = Array.from({ length: 200 }, (_, n) =>
    (n % 2 === 0 ? one : other).set(`key${n}`, "x", 3600, "alice"),
  );
  await Promise.all(writes);
  const counts = await Promise.all([one.counts(), other.counts()]);
  expect(counts.map(({ entries }) => entries)).toEqual([50, 50]);
  await one.set("shared", "x", 3600, "alice");
  expect(await other.get("shared")).toBe("x");
});

test("tables of an earlier version are brought forward with their entries", () => {
  const path = temporaryFile();
  const options = { path, busyMs: 1_000, mayCreate: true };
  const before = openDatabase(options);
  before.exec("INSERT INTO owners VALUES ('alice', 0, 0, 7)");
  before.close();
  const migrations = [...MIGRATIONS, "ALTER TABLE owners ADD COLUMN plan TEXT"];
  const after = openDatabase({ ...options, migrations });
  expect(readValue(after, "PRAGMA user_version")).toBe(2);
  expect(after.prepare("SELECT uses, plan FROM owners").get()).toEqual({ uses: 7, plan: null });
  after.close();
});

test("during an upgrade the earlier gateway goes on with a file whose tables a later one has extended", async () => {
  const path = temporaryFile();
  const store = await openTestFile(path, { limits: { maxEntries: 2, maxBytes: 1_000_000 } });
  const set = (key: string) => store.set(key, key, 60, "alice");
  await set("a");
  const tables = ["owners", "entries", "contents"];
  foreign(path, tables.map((name) => `ALTER TABLE ${name} ADD COLUMN later TEXT`).join("; "));
  foreign(path, "PRAGMA user_version = 2");
  await set("b");
  await set("c");
  const values = await Promise.all(["a", "b", "c"].map((key) => store.get(key)));
  expect(values).toEqual([undefined, "b", "c"]);
  await store.delete("b");
  expect((await store.counts()).entries).toBe(1);
});

test("a file whose creation was interrupted is created again", async () => {
  const path = temporaryFile();
  writeFileSync(path, "");
  foreign(path, "PRAGMA journal_mode = WAL");
  const store = await openTestFile(path);
  expect(await store.set("a", "x", 60, "alice")).toBe(true);
});

test("a value of another type than bytes is not readable", async () => {
  const path = await writtenFile();
  const text = new DatabaseSync(path);
  text.exec("DROP TABLE contents; CREATE TABLE contents (id INTEGER PRIMARY KEY, value)");
  text.exec("INSERT INTO contents SELECT id, 'text' FROM entries");
  text.close();
  const store = await openTestFile(path);
  expect(await store.get("key0")).toBe("");
});
