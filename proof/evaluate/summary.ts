/** The results of each arm's plays, with 95 % intervals. */
import { createRandom, type Estimate, percentile } from "../bench/statistics.ts";
import type { ArmResult } from "./evaluate.ts";

interface ArmSummary {
  readonly name: string;
  readonly skipped?: string;
  readonly plays: number;
  readonly passed: Estimate;
  /** Beside the first arm, on the cases that both have played. */
  readonly difference?: Estimate;
  readonly malformed: Estimate;
  readonly repairsPerHundred: number;
  readonly tokensPerPlay: number;
}

const RESAMPLES = 2000;

export function summarize(results: readonly ArmResult[]): ArmSummary[] {
  const [base] = results;
  return results.map((result) => {
    const { arm, skipped, played, repairs } = result;
    const rates = passRates(result);
    const baseRates =
      base === undefined || base === result ? new Map<string, number>() : passRates(base);
    const differences = [...rates].flatMap(([id, rate]) => {
      const other = baseRates.get(id);
      return other === undefined ? [] : [rate - other];
    });
    const responses = sum(played.map((each) => each.responses));
    return {
      name: arm.name,
      ...(skipped !== undefined && { skipped }),
      plays: played.length,
      passed: bootstrap([...rates.values()]),
      ...(differences.length > 0 && { difference: bootstrap(differences) }),
      malformed: wilson(sum(played.map((each) => each.malformed)), responses),
      repairsPerHundred: (100 * sum(Object.values(repairs))) / responses,
      tokensPerPlay: sum(played.map((each) => each.completionTokens)) / played.length,
    };
  });
}

/** Averages by case, over its seeds, because plays of one case are not independent samples. */
function passRates({ played }: ArmResult): Map<string, number> {
  return new Map(
    [...Map.groupBy(played, ({ id }) => id)].map(([id, plays]) => [
      id,
      plays.filter(({ problem }) => problem === "").length / plays.length,
    ]),
  );
}

/** The mean. Cases are drawn with replacement; the same numbers give the same interval. */
export function bootstrap(values: readonly number[]): Estimate {
  const random = createRandom(1);
  const means = Float64Array.from({ length: RESAMPLES }, () => {
    const drawn = values.map(() => values[Math.floor(random() * values.length)] ?? 0);
    return sum(drawn) / drawn.length;
  }).toSorted();
  return {
    value: sum(values) / values.length,
    low: percentile(means, 0.025),
    high: percentile(means, 0.975),
  };
}

/** Wilson's interval: right for rare events, too, for which a bootstrap shows no uncertainty. */
export function wilson(count: number, of: number): Estimate {
  const z = 1.96;
  const share = count / of;
  const centre = share + (z * z) / (2 * of);
  const spread = z * Math.sqrt((share * (1 - share)) / of + (z * z) / (4 * of * of));
  const scale = 1 + (z * z) / of;
  return {
    value: share,
    low: Math.max(0, (centre - spread) / scale),
    high: Math.min(1, (centre + spread) / scale),
  };
}

export function toTable(summaries: readonly ArmSummary[]): string {
  const head =
    "| arm | plays | passed | beside the first | malformed | repairs per 100 | tokens per play |";
  const rows = summaries.map(({ name, skipped, plays, passed, difference, malformed, ...rest }) =>
    skipped === undefined
      ? `| ${name} | ${plays} | ${percent(passed)} | ${difference ? percent(difference) : ""} | ${percent(malformed)} | ${rest.repairsPerHundred.toFixed(1)} | ${rest.tokensPerPlay.toFixed(0)} |`
      : `| ${name} | skipped: ${skipped} | | | | | |`,
  );
  return [head, "| --- | --- | --- | --- | --- | --- | --- |", ...rows].join("\n");
}

function percent({ value, low, high }: Estimate): string {
  const shown = [value, low, high].map((each) => (100 * each).toFixed(1));
  return `${shown[0]}% [${shown[1]}, ${shown[2]}]`;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, each) => total + each, 0);
}
