/**
 * `node proof/fuzz/turns/planted.ts`: plants one defect after the other in the core, and reports how soon the search finds each.
 */
import { FAULTS } from "./faults.ts";
import { findFault } from "./plant.ts";

const MAX_CASES = 3000;

console.log("| planted defect | found by the rule | after turns |\n| --- | --- | --- |");
for (const fault of FAULTS) {
  const found = await findFault(fault, MAX_CASES);
  if (found === undefined) process.exitCode = 1;
  console.log(`| ${fault.name} | ${found?.rule ?? "not found"} | ${found?.cases ?? MAX_CASES} |`);
}
