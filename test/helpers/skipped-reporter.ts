/** Prints at the end of a run why tests were skipped: titles say it, `(skipped where redis-server is not installed)`. */
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

function reasonOf(name: string): string {
  const reason = /\bskipped(?: where| if|:) ([^)]+)\)/.exec(name)?.[1];
  return reason ?? `no reason: ${name}`;
}
