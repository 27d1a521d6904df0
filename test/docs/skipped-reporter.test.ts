import { expect, test } from "vitest";
import { explainSkipped } from "../helpers/skipped-reporter.ts";

test("skipped tests are counted by the reason in their titles", () => {
  expect(
    explainSkipped([
      "a socket (S30; skipped if nginx is not installed)",
      "Redis (skipped where redis-server is not installed) > get",
      "Redis (skipped where redis-server is not installed) > set",
      "a whole turn (skipped: there is no python3) > one",
      "a test",
    ]),
  ).toBe(`
 Skipped 5 tests:
  2  redis-server is not installed
  1  nginx is not installed
  1  there is no python3
  1  no reason: a test
`);
  expect(explainSkipped([])).toBe("");
});
