import * as fc from "fast-check";
import { expect, test } from "vitest";
import * as z from "zod";
import { createEntries, readStored } from "../../src/store/entries.ts";
import { createMemoryStore, type Store } from "../../src/index.ts";

const SCHEMA = z.object({ name: z.string() });

const PET = z.object({ name: z.string(), legs: z.number().optional() });
const FORMATS = [SCHEMA.transform(({ name }) => ({ name, legs: undefined })), PET];

function memoryStore(): Store {
  return createMemoryStore({ maxEntries: 100, maxBytes: 1000, now: Date.now });
}

/** A gateway that knows these formats. */
function entriesOf(formats: readonly z.ZodType[], store = memoryStore()) {
  const unread: [kind: string, version?: number][] = [];
  const onUnreadable = (...entry: [string, number?]) => void unread.push(entry);
  const keys: string[] = [];
  const noting: Store = {
    ...store,
    set(key, ...others) {
      keys.push(key);
      return store.set(key, ...others);
    },
  };
  const deps = { store: noting, ttlSeconds: 60, onUnreadable };
  const entries = createEntries<z.ZodType>("pet", formats, deps);
  /** Replaces the text of an entry. */
  const write = async (text: string, tenant: string, id: string) => {
    await entries.set({}, tenant, id);
    await store.set(keys.at(-1) ?? "", text, 60, tenant);
  };
  return { store, unread, entries, write };
}

test("an entry is read by its own tenant only", async () => {
  const { entries, unread } = entriesOf([SCHEMA]);
  expect(await entries.set({ name: "Rex" }, "alice", "1", "2")).toBe(true);
  expect(await entries.get("alice", "1", "2")).toEqual({ name: "Rex" });
  expect(await entries.get("bob", "1", "2")).toBe(undefined);
  await entries.delete("alice", "1", "2");
  expect(await entries.get("alice", "1", "2")).toBe(undefined);
  expect(unread).toEqual([]);
});

test("a large entry is read in slices, between which others are served", async () => {
  const memory = createMemoryStore({ maxEntries: 10, maxBytes: 1_000_000, now: Date.now });
  const state = { turns: 0, hasEnded: false };
  const count = () => {
    state.turns++;
    if (!state.hasEnded) setImmediate(count);
  };
  const store: Store = {
    ...memory,
    get(key) {
      setImmediate(count);
      return memory.get(key);
    },
  };
  const { entries } = entriesOf([SCHEMA], store);
  const name = "x".repeat(200_000);
  await entries.set({ name }, "alice", "large");
  expect(await entries.get("alice", "large")).toEqual({ name });
  state.hasEnded = true;
  expect(state.turns).toBeGreaterThan(1);
});

test("a value that is too large is reported", async () => {
  const { entries } = entriesOf([SCHEMA]);
  expect(await entries.set({ name: "x".repeat(2000) }, "alice", "1")).toBe(false);
});

test.each(
  ["", "{", '{"name":"Re', '{"name":7}', "null", "\u0000", '"Rex"'].flatMap((json) => [
    json,
    `v1 ${json}`,
  ]),
)("%j counts as missing, and is reported", async (text) => {
  const { entries, write, unread } = entriesOf([SCHEMA]);
  await write(text, "alice", "1");
  expect(await entries.get("alice", "1")).toBe(undefined);
  expect(unread).toEqual([["pet"]]);
});

test.each([
  ["v3 {}", 3],
  ["v0 {}", 0],
  ["v20 not even JSON", 20],
])(
  "a value of an unknown version is missing, and its version is reported: %s",
  async (text, version) => {
    const { entries, write, unread } = entriesOf(FORMATS);
    await write(text, "alice", "1");
    expect(await entries.get("alice", "1")).toBe(undefined);
    expect(unread).toEqual([["pet", version]]);
  },
);

test.each(["v1{}", "v 1 {}", "v1", "v-1 {}", "v1234567 {}", '{"name":"Rex"}'])(
  "a value without a version is not readable: %s",
  async (text) => {
    const { entries, write, unread } = entriesOf(FORMATS);
    await write(text, "alice", "1");
    expect(await entries.get("alice", "1")).toBe(undefined);
    expect(unread).toEqual([["pet"]]);
  },
);

test("during an upgrade the new gateway reads the entries of the old one, which misses those of the new one", async () => {
  const before = entriesOf([SCHEMA]);
  const after = entriesOf(FORMATS, before.store);
  await before.entries.set({ name: "Rex" }, "alice", "old");
  await after.entries.set({ name: "Polly", legs: 2 }, "alice", "new");
  expect(await after.entries.get("alice", "old")).toEqual({ name: "Rex", legs: undefined });
  expect(await after.entries.get("alice", "new")).toEqual({ name: "Polly", legs: 2 });
  expect(after.unread).toEqual([]);
  expect(await before.entries.get("alice", "new")).toBe(undefined);
  expect(before.unread).toEqual([["pet", 2]]);
});

test("a member that an old gateway does not know is no new version", async () => {
  const before = entriesOf([SCHEMA]);
  const after = entriesOf([PET], before.store);
  await after.entries.set({ name: "Polly", legs: 2 }, "alice", "1");
  expect(await before.entries.get("alice", "1")).toEqual({ name: "Polly" });
  expect(before.unread).toEqual([]);
});

test("a value that nests deeper than any request is missing, whatever its texts contain", () => {
  const schema = z.looseObject({});
  const nested = (depth: number) => `{"a":${"[".repeat(depth)}"]\\\\\\"["${"]".repeat(depth)}}`;
  expect(readStored(schema, nested(250))).toBeDefined();
  expect(readStored(schema, nested(260))).toBe(undefined);
  expect(readStored(schema, nested(100_000))).toBe(undefined);
  expect(readStored(schema, JSON.stringify({ a: "[{".repeat(1000), b: '\\"[' }))).toBeDefined();
});

test("reading never throws, whatever the stored text", () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
      const value = readStored(SCHEMA, text);
      expect(value === undefined || typeof value.name === "string").toBe(true);
    }),
  );
});
