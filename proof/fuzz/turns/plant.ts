/** Checks whether the search finds a planted defect, and how soon. */
import { APIS } from "./apis.ts";
import type { Fault } from "./faults.ts";
import { generateCase } from "./generate.ts";
import { runCase } from "./search.ts";

export interface Found {
  readonly rule: string;
  /** Number of cases until it was found. */
  readonly cases: number;
}

/** Searches with exact ids, over all APIs in turn. Undefined: not found. */
export async function findFault(fault: Fault, maxCases: number): Promise<Found | undefined> {
  const apis = Object.keys(APIS);
  for (let seed = 1; seed <= maxCases; seed++) {
    const given = generateCase(seed, "ids", apis[seed % apis.length] ?? "chat");
    const isExpected = ({ rule }: { rule: string }) => fault.rules.includes(rule);
    const violation = (await runCase(given, fault)).find(isExpected);
    // The planted defect must be the cause.
    if (violation === undefined || (await runCase(given)).some(isExpected)) continue;
    return { rule: violation.rule, cases: seed };
  }
  return undefined;
}
