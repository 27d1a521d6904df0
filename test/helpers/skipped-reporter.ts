/**
 * Prints the reasons for skipped tests at the end of a run, from their titles: `(skipped where redis-server is not
 * installed)`. The run fails if one of the reasons names a program that `REQUIRED_PROGRAMS` demands:
 * `REQUIRED_PROGRAMS="redis-server, nginx"`.
 */
import type { Reporter, TestModule, Vitest } from "vitest/node";

export default class SkippedReporter implements Reporter {
  /** Tests were chosen by name with `-t`: the others count as skipped. */
  #isFiltered = false;

  onInit({ config }: Vitest): void {
    this.#isFiltered = config.testNamePattern !== undefined;
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    if (this.#isFiltered) return;
    const names = modules.flatMap((module) =>
      Array.from(module.children.allTests("skipped"), ({ fullName }) => fullName),
    );
    const text = explainSkipped(names);
    if (text !== "") console.log(text);
    const required = (process.env["REQUIRED_PROGRAMS"] ?? "").split(",").map((each) => each.trim());
    const missing = required.filter(
      (each) => each !== "" && names.some((name) => reasonOf(name).includes(each)),
    );
    if (missing.length === 0) return;
    console.error(
      ` Tests of ${missing.join(", ")} were skipped, and REQUIRED_PROGRAMS demands them: install what is missing.\n`,
    );
    process.exitCode = 1;
  }
}

/** A line for each reason with the number of its tests. Empty: none was skipped. */
export function explainSkipped(names: readonly string[]): string {
  if (names.length === 0) return "";
  const byReason = Map.groupBy(names, (name) => reasonOf(name));
  const lines = [...byReason]
    .toSorted(([, a], [, b]) => b.length - a.length)
    .map(([reason, tests]) => `  ${tests.length}  ${reason}`);
  return `\n Skipped ${names.length} ${names.length === 1 ? "test" : "tests"}:\n${lines.join("\n")}\n`;
}

/** The innermost reason: a skipped test may be in a group that runs, whose title has another reason. */
function reasonOf(name: string): string {
  const reasons = [...name.matchAll(/\bskipped(?: where| if|:) ([^)]+)\)/g)];
  return reasons.at(-1)?.[1] ?? `no reason: ${name}`;
}
