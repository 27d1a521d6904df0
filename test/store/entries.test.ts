import * as fc from "fast-check";
import { expect, test } from "vitest";
import * as z from "zod";
import { byteLength } from "../../src/store/byte-length.ts";
import { createEntries, readStored } from "../../src/store/entries.ts";
import { createMemoryStore } from "../../src/store/memory-store.ts";
import { storeKey } from "../../src/store/store.ts";

const SCHEMA = z.object({ name: z.string() });

function entriesOf() {
  const store = createMemoryStore({ maxEntries: 100, maxBytes: 1000, now: Date.now });
  const corrupt: string[] = [];
  const onCorrupt = (kind: string) => void corrupt.push(kind);
  return {
    store,
    corrupt,
    entries: createEntries("pet", SCHEMA, { store, ttlSeconds: 60, onCorrupt }),
  };
}

test("an entry is read by its own tenant only", async () => {
  const { entries, corrupt } = entriesOf();
  expect(await entries.set({ name: "Rex" }, "alice", "1", "2")).toBe(true);
  expect(await entries.get("alice", "1", "2")).toEqual({ name: "Rex" });
  expect(await entries.get("bob", "1", "2")).toBe(undefined);
  await entries.delete("alice", "1", "2");
  expect(await entries.get("alice", "1", "2")).toBe(undefined);
  expect(corrupt).toEqual([]);
});

test("a value that is too large is reported", async () => {
  const { entries } = entriesOf();
  expect(await entries.set({ name: "x".repeat(2000) }, "alice", "1")).toBe(false);
});

test.each(["", "{", '{"name":"Re', '{"name":7}', "null", "\u0000", '"Rex"'])(
  "%j counts as missing, and is reported",
  async (text) => {
    const { entries, store, corrupt } = entriesOf();
    await store.set(await storeKey("pet", "alice", "1"), text, 60, "alice");
    expect(await entries.get("alice", "1")).toBe(undefined);
    expect(corrupt).toEqual(["pet"]);
  },
);

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

test("bytes are counted as TextEncoder writes them", () => {
  fc.assert(
    fc.property(
      fc.string({ unit: fc.oneof(fc.string(), fc.constantFrom("\ud800", "\udc00")) }),
      (text) => {
        expect(byteLength(text)).toBe(new TextEncoder().encode(text).length);
      },
    ),
  );
});
