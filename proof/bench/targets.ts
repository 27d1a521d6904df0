/** The figures of performance: the measured value of each, and whether its bound is kept. */
import { compareContenders, type Results } from "./results.ts";

export interface Verdict {
  readonly path: string;
  /** Absent: a figure without a bound. */
  readonly target: string | undefined;
  /** The measurement in words; undefined if the run does not contain it. */
  readonly measured: string | undefined;
  readonly met: boolean | undefined;
}

interface Figure {
  readonly value: number | undefined;
  readonly most?: number;
  readonly least?: number;
  readonly unit: string;
  /** The unit of the bound, where it is another. */
  readonly boundUnit?: string;
}

export function judge(results: Results): Verdict[] {
  const { streaming } = results;
  const of = (scenario: string, contender: string, column: string): number | undefined =>
    streaming?.[scenario]?.[contender]?.[column]?.median;
  const beside = (
    scenario: string,
    other: string,
    {
      column = "cpuPerToken",
      contender = "gateway",
      ...bound
    }: { column?: string; contender?: string; most?: number } = {},
  ): Figure => ({
    ...bound,
    value: compareContenders(streaming, scenario, column, contender, other)?.value,
    unit: `× ${other}`,
  });
  const faster = (corpus: string, least: number): Figure => ({
    value: ratio(
      results.text?.unseen["own"]?.[corpus]?.median,
      results.text?.unseen["js-tiktoken"]?.[corpus]?.median,
    ),
    least,
    unit: "×",
    boundUnit: "× js-tiktoken",
  });
  const atMost = (most: number, unit: string, value: number | undefined): Figure => ({
    value,
    most,
    unit,
  });
  /** A share of js-tiktoken's time in the same run. */
  const share = (most: number, value: number | undefined, peer: number | undefined): Figure =>
    atMost(most, "× js-tiktoken", ratio(value, peer));
  const worst = Object.values(results.text?.worst100Kb["own"] ?? {}).map((each) => each.median);
  const ready = (name: string): number | undefined =>
    results.text?.coldStart[name]?.["readyMs"]?.median;
  const turn = (tokens: number, column: string): number | undefined =>
    results.inner?.conversations.find((each) => each["tokens"]?.median === tokens)?.[column]
      ?.median;
  const nextTurn = (tokens: number): Figure =>
    share(0.02, turn(tokens, "seenMs"), turn(tokens, "jsTiktokenMs"));
  return [
    verdict("encode, unseen prose", faster("prose", 12)),
    verdict("encode, unseen code", faster("code", 12)),
    verdict("encode, unseen JSON", faster("json", 12)),
    verdict("encode, unseen CJK", faster("cjk", 25)),
    verdict(
      "any 100 KB of text",
      atMost(40, "ms", worst.length > 0 ? Math.max(...worst) : undefined),
    ),
    verdict("tokenizer ready", share(0.1, ready("own"), ready("js-tiktoken"))),
    verdict("command listening, CPU", { value: of("start", "gateway", "cpu"), unit: "ms" }),
    verdict("turn n+1 of 100,000 tokens", nextTurn(100_000)),
    verdict("turn n+1 of 400,000 tokens", nextTurn(400_000)),
    verdict("streaming, bulk", beside("bulk", "hono-pipe")),
    verdict("streaming, 64 × 50 tokens/s", beside("paced-64", "hono-pipe")),
    verdict("streaming, 256 × 10 tokens/s", beside("paced-256", "hono-pipe")),
    verdict("streaming, 256 × 10 tokens/s, beside Portkey", beside("paced-256", "portkey")),
    verdict(
      "Responses, bulk",
      beside("bulk", "gateway", { contender: "gateway-responses", most: 1.3 }),
    ),
    verdict("latency of a token, p50", beside("latency", "hono-pipe", { column: "p50", most: 1 })),
    verdict("latency of a token, p99", beside("latency", "hono-pipe", { column: "p99", most: 1 })),
    verdict("first token, p50", beside("first-token", "hono-pipe", { column: "first" })),
    verdict("short request, CPU", beside("requests", "hono-pipe", { column: "cpuPerRequest" })),
    verdict("memory of an open stream", {
      value: of("open", "gateway", "rssPerStream"),
      unit: "KB",
    }),
  ];
}

function verdict(path: string, { value, most, least, unit, boundUnit = unit }: Figure): Verdict {
  const limit = most ?? least;
  const target =
    limit === undefined ? undefined : `${most === undefined ? "≥" : "≤"} ${limit} ${boundUnit}`;
  if (value === undefined || Number.isNaN(value)) {
    return { path, target, measured: undefined, met: undefined };
  }
  const met = value <= (most ?? Infinity) && value >= (least ?? -Infinity);
  return {
    path,
    target,
    measured: `${toText(value)} ${unit}`,
    met: target === undefined ? undefined : met,
  };
}

/** Three significant digits, no exponent. */
export function toText(value: number): string {
  if (Number.isNaN(value)) return "–";
  const digits = value >= 100 ? 0 : value >= 10 ? 1 : value >= 1 ? 2 : value >= 0.1 ? 3 : 4;
  return value
    .toFixed(digits)
    .replace(/\B(?=(\d{3})+(?!\d))(?=\d*(\.|$))/g, digits === 0 ? "," : "");
}

function ratio(value: number | undefined, other: number | undefined): number | undefined {
  return value === undefined || other === undefined ? undefined : value / other;
}
