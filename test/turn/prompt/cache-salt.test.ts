import { expect, test } from "vitest";
import { createCacheSalts } from "../../../src/turn/prompt/cache-salt.ts";

const KEYS = [
  { name: "alice", sha256: "a".repeat(64) },
  { name: "bob", sha256: "b".repeat(64) },
];

test("each tenant has its own salt, which is the same on every replica and reveals neither name nor hash", async () => {
  const salts = createCacheSalts({ isolateCaches: "auto", keys: KEYS });
  const alice = await salts("alice");
  const bob = await salts("bob");
  expect(alice).toMatch(/^[0-9a-f]{32}$/);
  expect(bob).toMatch(/^[0-9a-f]{32}$/);
  expect(alice).not.toBe(bob);
  expect("a".repeat(64)).not.toContain(alice);
  expect(salts("alice")).toBe(alice);
  expect(await createCacheSalts({ isolateCaches: "on", keys: KEYS.slice(0, 1) })("alice")).toBe(
    alice,
  );
});

test.each([
  ["one key alone", "auto", KEYS.slice(0, 1), "alice"],
  ["nobody has a key", "on", [], "anonymous"],
  ["the operator wants none", "off", KEYS, "alice"],
] as const)("there is none where %s", (_, isolateCaches, keys, tenant) => {
  expect(createCacheSalts({ isolateCaches, keys })(tenant)).toBeUndefined();
});
