import { expect, test } from "vitest";
import { findByName } from "../../src/models/model-name.ts";

const none = { effort: undefined, suffixes: new Set() };
const known = new Map([
  ["m", 1],
  ["m:high", 2],
  ["gpt-oss:20b", 3],
  ["n-low", 4],
]);

test.each([
  ["m", { found: 1, ...none }],
  ["m:low", { found: 1, effort: "low", suffixes: new Set() }],
  ["m:free", { found: 1, effort: undefined, suffixes: new Set(["free"]) }],
  ["m:open-responses:none", { found: 1, effort: "none", suffixes: new Set(["open-responses"]) }],
  ["m:none:open-responses", { found: 1, effort: "none", suffixes: new Set(["open-responses"]) }],
  // A suffix of the configured name is part of it.
  ["m:high", { found: 2, ...none }],
  ["m:high:low", { found: 2, effort: "low", suffixes: new Set() }],
  ["gpt-oss:20b:medium", { found: 3, effort: "medium", suffixes: new Set() }],
  ["m-high", { found: 1, effort: "high", suffixes: new Set() }],
  ["m-none:open-responses", { found: 1, effort: "none", suffixes: new Set(["open-responses"]) }],
  ["m:free-low", { found: 1, effort: "low", suffixes: new Set(["free"]) }],
  // The configured name itself ends like a suffix.
  ["n-low", { found: 4, ...none }],
  ["n-low-low", { found: 4, effort: "low", suffixes: new Set() }],
  ["n", undefined],
  ["m-low-high", undefined],
  ["m-low:high", undefined],
  ["m-", undefined],
  ["m-minimal", undefined],
  ["-low", undefined],
  ["gpt-oss:high", undefined],
  ["m:low:medium", undefined],
  ["m:", undefined],
  [":low", undefined],
  ["", undefined],
])("%j", (name, expected) => {
  expect(findByName(known, name)).toEqual(expected);
});

test("no name is looked up more often than there are suffixes", () => {
  let lookups = 0;
  class Counting extends Map<string, number> {
    override get(key: string): number | undefined {
      lookups++;
      return super.get(key);
    }
  }
  expect(findByName(new Counting(), `m${":free:nitro:low:floor".repeat(50_000)}`)).toBeUndefined();
  expect(lookups).toBeLessThan(15);
});
