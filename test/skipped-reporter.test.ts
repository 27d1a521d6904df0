import { spawnSync } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { explainSkipped } from "./helpers/skipped-reporter.ts";

test("skipped tests are counted by the reason in their titles", () => {
  expect(
    explainSkipped([
      "a socket (S30; skipped if nginx is not installed)",
      "Redis (skipped where redis-server is not installed) > get",
      "Redis (skipped where redis-server is not installed) > set",
      "a whole turn (skipped: there is no python3) > one",
      "Redis (skipped where redis-server is not installed) > expiry (skipped where the store has a clock)",
      "a test",
    ]),
  ).toBe(`
 Skipped 6 tests:
  2  redis-server is not installed
  1  nginx is not installed
  1  there is no python3
  1  the store has a clock
  1  no reason: a test
`);
  expect(explainSkipped([])).toBe("");
});

test.each([
  ["", 0],
  ["nginx", 0],
  ["nginx, redis-server", 1],
])("a run without Redis that requires %j ends with %i", (required, status) => {
  const folder = mkdtempSync(join(tmpdir(), "skipped-"));
  writeFileSync(
    join(folder, "redis.test.ts"),
    'test("runs", () => {}); test.skip("Redis (skipped where redis-server is not installed)", () => {});',
  );
  const [vitest, reporter] = ["../node_modules/vitest/vitest.mjs", "helpers/skipped-reporter.ts"];
  const run = spawnSync(
    process.execPath,
    [join(import.meta.dirname, vitest), "run", "--globals", "--root", folder].concat(
      "--reporter",
      join(import.meta.dirname, reporter),
    ),
    { encoding: "utf8", env: { ...process.env, REQUIRED_PROGRAMS: required } },
  );
  expect(run.stdout).toContain("1  redis-server is not installed");
  expect(run.stderr.includes("Tests of redis-server were skipped")).toBe(status === 1);
  expect(run.status).toBe(status);
});
