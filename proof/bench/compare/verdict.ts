/** The result of a comparison of builds: tables, and losses beyond the limit. */
import { table, toRatio } from "../report.ts";
import { compareContenders } from "../results.ts";
import type { Estimate } from "../statistics.ts";
import type { Scenario } from "../streaming/scenario.ts";
import type { StreamingResults } from "../streaming/suite.ts";
import { toText } from "../targets.ts";

export interface Loss {
  readonly scenario: string;
  readonly unit: string;
  readonly base: string;
  /** `head` in relation to `base`. */
  readonly ratio: Estimate;
}

/** The checkout, as a contender. */
export const HEAD = "head";
export const PIPE = "hono-pipe";

/**
 * Finds certain losses of `head`: the whole interval of the ratio is beyond the allowed loss. Only scenarios that are
 * measured over the same windows are judged; the intervals of others mean less.
 */
export function findLosses(
  results: StreamingResults,
  scenarios: readonly Scenario[],
  bases: readonly string[],
  maxLoss: number,
): Loss[] {
  return scenarios.flatMap((scenario) =>
    columnsOf(scenario, "judged").flatMap((column) =>
      bases.flatMap((base) => {
        const ratio = compareContenders(results, scenario.name, column, HEAD, base);
        if (ratio === undefined || ratio.low <= 1 + maxLoss) return [];
        return [{ scenario: scenario.name, unit: scenario.columns[column] ?? column, base, ratio }];
      }),
    ),
  );
}

/** A table for each number of each scenario: a row for each build, and what `head` is in relation to it. */
export function toTables(
  results: StreamingResults,
  scenarios: readonly Scenario[],
  contenders: readonly string[],
): string {
  const tables = scenarios.flatMap((scenario) =>
    columnsOf(scenario, "shown").map((column) => {
      const { name, title, columns } = scenario;
      const ratio = (contender: string, other: string): string =>
        contender === other
          ? ""
          : toRatio(compareContenders(results, name, column, contender, other));
      const rows = contenders.map((contender) => [
        contender,
        ratio(HEAD, contender),
        ratio(contender, PIPE),
        toText(results[name]?.[contender]?.[column]?.median ?? NaN),
      ]);
      const head = ["", "head / this", `× ${PIPE}`, columns[column] ?? column];
      return `### ${name}: ${title}\n\n${table(head, rows)}`;
    }),
  );
  return `${tables.join("\n\n")}\n`;
}

export function describeLoss({ scenario, unit, base, ratio }: Loss): string {
  return `${scenario}, ${unit}: ${toRatio(ratio)} × ${base}`;
}

function columnsOf(scenario: Scenario, which: "judged" | "shown"): readonly string[] {
  if (scenario.kind === "same-windows") return scenario.compared;
  return which === "judged" ? [] : Object.keys(scenario.columns);
}
