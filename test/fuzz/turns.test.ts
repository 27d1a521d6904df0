/** The search in small, so that a change that breaks a promise is seen at once. `npm run fuzz:turns` runs it at length. */
import { describe, expect, test } from "vitest";
import { shrink } from "../../fuzz/shrink.ts";
import { APIS } from "../../fuzz/turns/apis.ts";
import { WIRES } from "../../fuzz/turns/case.ts";
import { generateCase } from "../../fuzz/turns/generate.ts";
import { KNOWN } from "../../fuzz/turns/known.ts";
import { runCase } from "../../fuzz/turns/search.ts";
import { smallerCases } from "../../fuzz/turns/smaller-cases.ts";

const CASES = 60;

describe.each(WIRES)("random turns over %s", (wire) => {
  test.each(Object.keys(APIS))("%s: every promise holds", async (api) => {
    const broken: string[] = [];
    for (let seed = 1; seed <= CASES; seed++) {
      const violations = await runCase(generateCase(seed, wire, api));
      const rules = violations.map(({ rule }) => rule).filter((rule) => !KNOWN[wire].has(rule));
      for (const rule of new Set(rules)) {
        broken.push(
          `npm run fuzz:turns -- --n 1 --seed ${seed} --wire ${wire} --api ${api} --rule ${rule}`,
        );
      }
    }
    expect(broken).toEqual([]);
  });
});

describe("shrinking", () => {
  test("keeps what fails and leaves out the rest", async () => {
    const given = generateCase(4, "ids", "chat");
    const marked = {
      ...given,
      choices: [
        [
          { role: "analysis" as const, header: "", body: "x", end: "" },
          { role: "final" as const, header: "", body: "some words and needle", end: "" },
        ],
      ],
    };
    const isFailing = (candidate: typeof given) =>
      Promise.resolve(JSON.stringify(candidate.choices).includes("needle"));
    const smallest = await shrink(marked, smallerCases, isFailing);
    expect(smallest.choices).toHaveLength(1);
    expect(smallest.choices[0]).toHaveLength(1);
    expect(smallest.choices[0]?.[0]?.body.length).toBeLessThan(12);
  });
});
