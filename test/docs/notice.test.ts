import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const ROOT = join(import.meta.dirname, "../..");

const notice = readFileSync(join(ROOT, "NOTICE"), "utf8");

test("NOTICE says where each folder of test data comes from", () => {
  const folders = readdirSync(join(ROOT, "test/fixtures")).map((name) => `test/fixtures/${name}`);
  expect(folders).toContain("test/fixtures/swe-tape");
  expect(folders.filter((folder) => !notice.includes(folder))).toEqual([]);
});

test("NOTICE names the modules that hold others' words", () => {
  const modules = readdirSync(join(ROOT, "src/harmony")).filter((name) =>
    /\b(?:word for word|verbatim)\b/.test(readFileSync(join(ROOT, "src/harmony", name), "utf8")),
  );
  expect(modules).toContain("trained-tools.ts");
  const built = modules.map((name) => `dist/harmony/${name.replace(/ts$/, "js")}`);
  expect(built.filter((path) => !notice.includes(path))).toEqual([]);
});
