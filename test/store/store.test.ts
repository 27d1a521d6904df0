import { array, assert, asyncProperty, string } from "fast-check";
import { expect, test } from "vitest";
import { readMany, storeKey } from "../../src/store/store.ts";

test("a key contains its kind and nothing else readable", async () => {
  expect(await storeKey("reasoning", "alice", "call_1")).toMatch(/^reasoning:[0-9a-f]{64}$/);
});

test("a store without a read of many entries reads each", async () => {
  const get = async (key: string) => (key === "b" ? undefined : key.toUpperCase());
  expect(await readMany({ get }, ["a", "b", "c"])).toEqual(
    new Map([
      ["a", "A"],
      ["c", "C"],
    ]),
  );
});

test("different parts make different keys, however they are split", async () => {
  await assert(
    asyncProperty(array(string()), array(string()), async (a, b) => {
      const same = JSON.stringify(a) === JSON.stringify(b);
      expect((await storeKey("x", ...a)) === (await storeKey("x", ...b))).toBe(same);
    }),
    {
      numRuns: 200,
      examples: [
        [
          ["ab", "c"],
          ["a", "bc"],
        ],
        [["a", ""], ["a"]],
      ],
    },
  );
});
