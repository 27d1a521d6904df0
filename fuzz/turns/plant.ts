/** Whether the search finds a defect that was put in on purpose, and how soon. */
import { APIS } from "./apis.ts";
import type { Fault } from "./faults.ts";
import { generateCase } from "./generate.ts";
import { runCase } from "./search.ts";

export interface Found {
  readonly rule: string;
  /** Cases it took. */
  readonly cases: number;
}

/** Searches on exact ids, by all APIs in turn. Undefined: not found. */
export async function findFault(fault: Fault, maxCases: number): Promise<Found | undefined> {
  const apis = Object.keys(APIS);
  for (let seed = 1; seed <= maxCases; seed++) {
    const given = generateCase(seed, "ids", apis[seed % apis.length] ?? "chat");
    const isExpected = ({ rule }: { rule: string }) => fault.rules.includes(rule);
    const violation = (await runCase(given, fault)).find(isExpected);
    // It must be the planted defect that breaks the rule.
    if (violation === undefined || (await runCase(given)).some(isExpected)) continue;
    return { rule: violation.rule, cases: seed };
  }
  return undefined;
}
