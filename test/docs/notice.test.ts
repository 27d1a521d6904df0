import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const ROOT = join(import.meta.dirname, "../..");

test("NOTICE says where each folder of test data comes from", () => {
  const notice = readFileSync(join(ROOT, "NOTICE"), "utf8");
  const folders = readdirSync(join(ROOT, "test/fixtures")).map((name) => `test/fixtures/${name}`);
  expect(folders).toContain("test/fixtures/swe-tape");
  expect(folders.filter((folder) => !notice.includes(folder))).toEqual([]);
});
