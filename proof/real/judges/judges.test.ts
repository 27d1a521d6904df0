import { existsSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { readClientResults, toTable } from "../client-results.ts";
import { expectations, findSurprises } from "./expectation.ts";
import type { Check } from "./judge.ts";
import { JUDGES } from "./judges.ts";
import { MENDED } from "./mended.ts";
import { toPage } from "./page.ts";

const EXPECTED = expectations.parse(
  JSON.parse(readFileSync("proof/real/judges/expected.json", "utf8")),
);

const checks: Check[] = [
  { name: "a", outcome: "passed" },
  { name: "b", outcome: "failed" },
];

const known = {
  version: "1",
  date: "2026-11-25",
  passed: 1,
  failed: 1,
  skipped: 0,
  failures: [{ checks: ["b"], reason: "r", fault: "judge" as const }],
};

/** Tables are padded when they are formatted. */
const cells = (text: string) => text.replace(/[ -]+/g, "");

describe("a judge's result", () => {
  test("as expected", () => {
    expect(findSurprises(checks, known)).toEqual([]);
  });

  test.each([
    ["no check", [], known, ["it checked nothing"]],
    ["an unexplained failure", checks, { ...known, failures: [] }, ["failed: b"]],
    [
      "an expected failure that passes",
      [{ name: "b", outcome: "passed" as const }],
      known,
      ["expected to fail, and does not: b"],
    ],
    ["fewer passed checks", checks.slice(1), known, ["0 passed instead of 1"]],
    ["nothing recorded", checks, undefined, ["nothing was recorded of it: run it with --write"]],
  ])("%s", (_, said, expected, surprises) => {
    expect(findSurprises(said, expected)).toEqual(surprises);
  });

  test("as recorded, explains each failure, and the page shows it", () => {
    const page = readFileSync("docs/evidence/judges.md", "utf8");
    for (const { name, version } of JUDGES) {
      const { failed, failures } = EXPECTED[name] ?? { failed: -1, failures: [] };
      expect([name, EXPECTED[name]?.version]).toEqual([name, version]);
      expect([name, new Set(failures.flatMap((each) => each.checks)).size]).toEqual([name, failed]);
    }
    expect(cells(page)).toBe(cells(toPage(JUDGES, EXPECTED)));
  });
});

describe("a client's result", () => {
  const results = readClientResults();

  test.each(Object.keys(results))("of %s is of a program, and is on its page", (script) => {
    expect(existsSync(`proof/real/${script}`)).toBe(true);
    if (!script.includes("/")) return;
    const page = script.startsWith("python/") ? "python.md" : "sdks.md";
    const row = toTable([script]).split("\n").at(-1) ?? "";
    expect(cells(readFileSync(`docs/evidence/${page}`, "utf8"))).toContain(cells(row));
  });

  test.each(MENDED)("of $client shows that it is mended", ({ script }) => {
    expect(results[script]?.failed).toEqual([]);
    expect(results[script]?.passed).not.toEqual([]);
  });
});
