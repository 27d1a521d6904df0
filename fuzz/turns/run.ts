/**
 * Random turns in any number: `npm run fuzz:turns -- --n 100000 --seed 1`. Every wire and every API unless `--wire` or
 * `--api` says which. What fails is printed at its smallest, with the command that runs it again.
 */
import { parseArgs } from "node:util";
import { shrink } from "../shrink.ts";
import { APIS } from "./apis.ts";
import { type Case, type Wire, WIRES } from "./case.ts";
import type { Violation } from "./check.ts";
import { generateCase } from "./generate.ts";
import { runCase } from "./search.ts";
import { smallerCases } from "./smaller-cases.ts";

const { values } = parseArgs({
  options: {
    n: { type: "string", default: "1000" },
    seed: { type: "string", default: "1" },
    wire: { type: "string" },
    api: { type: "string" },
    /** Failures printed for each rule. */
    show: { type: "string", default: "1" },
    rule: { type: "string" },
  },
});

const count = Number(values.n);
const firstSeed = Number(values.seed);
const shown = Number(values.show);
const wires = values.wire === undefined ? WIRES : WIRES.filter((wire) => wire === values.wire);
const apis = values.api === undefined ? Object.keys(APIS) : [values.api];

let failures = 0;
for (const wire of wires) for (const api of apis) failures += await searchAll(wire, api);
process.exitCode = failures > 0 ? 1 : 0;

async function searchAll(wire: Wire, api: string): Promise<number> {
  const begun = performance.now();
  const byRule = new Map<string, number>();
  for (let at = 0; at < count; at++) {
    const given = generateCase(firstSeed + at, wire, api);
    const violations = (await runCase(given)).filter(
      ({ rule }) => values.rule === undefined || rule === values.rule,
    );
    for (const rule of new Set(violations.map((each) => each.rule))) {
      const seen = byRule.get(rule) ?? 0;
      byRule.set(rule, seen + 1);
      if (seen < shown) await printFailure(given, rule);
    }
  }
  const seconds = (performance.now() - begun) / 1000;
  const rules = [...byRule].map(([rule, times]) => `${rule} ${times}`).join(", ");
  console.log(
    `${wire} ${api}: ${count} turns, ${(count / seconds).toFixed(0)} a second, ` +
      (rules === "" ? "nothing found" : `broken: ${rules}`),
  );
  return byRule.size;
}

async function printFailure(given: Case, rule: string): Promise<void> {
  const broken = async (candidate: Case): Promise<Violation | undefined> =>
    (await runCase(candidate)).find((violation) => violation.rule === rule);
  const smallest = await shrink(
    given,
    smallerCases,
    async (candidate) => (await broken(candidate)) !== undefined,
  );
  const violation = await broken(smallest);
  console.log(`\n${rule}: ${violation?.detail ?? "not seen again"}`);
  console.log(toText(smallest));
  console.log(
    `again: npm run fuzz:turns -- --n 1 --seed ${given.seed} --wire ${given.wire} --api ${given.api} --rule ${rule}\n`,
  );
}

/** What of a case differs from the plainest there is. */
function toText({ engine, settings, demands, history, choices }: Case): string {
  return JSON.stringify({ engine, settings, demands, history, choices }, undefined, 1);
}
