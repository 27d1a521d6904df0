/** The performance targets: what was measured for each, and whether it is met. */
import type { Results } from "./results.ts";

export interface Verdict {
  readonly path: string;
  readonly target: string;
  /** The measurement in words; undefined if the run does not contain it. */
  readonly measured: string | undefined;
  readonly met: boolean | undefined;
}

interface Bound {
  readonly text: string;
  readonly value: number | undefined;
  readonly most?: number;
  readonly least?: number;
  readonly unit?: string;
}

export function judge(results: Results): Verdict[] {
  const cpu = (scenario: string, contender: string): number | undefined =>
    results.streaming?.[scenario]?.[contender]?.["cpuPerToken"]?.median;
  const of = (scenario: string, contender: string, column: string): number | undefined =>
    results.streaming?.[scenario]?.[contender]?.[column]?.median;
  const beside = (scenario: string, other: string, most: number): Bound => ({
    text: `${most} × ${other}`,
    value: ratio(cpu(scenario, "gateway"), cpu(scenario, other)),
    most,
    unit: `× ${other}`,
  });
  const faster = (corpus: string, least: number): Bound => ({
    text: `${least} × js-tiktoken`,
    value: ratio(
      results.text?.unseen["own"]?.[corpus]?.median,
      results.text?.unseen["js-tiktoken"]?.[corpus]?.median,
    ),
    least,
    unit: "×",
  });
  const worst = Object.values(results.text?.worst["own"] ?? {}).map((each) => each.median);
  const cold = results.text?.coldStart["own"];
  const turn = results.inner?.conversations.find((each) => each["tokens"]?.median === 100_000);
  const core = results.inner?.core["core, one event per read"]?.median;
  const added = (column: string): number | undefined =>
    minus(of("latency", "gateway", column), of("latency", "direct", column));

  return [
    verdict("encode, unseen prose", faster("prose", 12)),
    verdict("encode, unseen code", faster("code", 12)),
    verdict("encode, unseen JSON", faster("json", 12)),
    verdict("encode, unseen CJK", faster("cjk", 25)),
    verdict("any 100 KB of text", {
      text: "60 ms",
      value: worst.length > 0 ? Math.max(...worst) : undefined,
      most: 60,
      unit: "ms",
    }),
    verdict(
      "tokenizer ready",
      { text: "60 ms", value: cold?.["readyMs"]?.median, most: 60, unit: "ms" },
      { text: "25 MB", value: cold?.["heapMb"]?.median, most: 25, unit: "MB" },
    ),
    verdict("turn n+1 of 100,000 tokens", {
      text: "3 ms",
      value: turn?.["seenMs"]?.median,
      most: 3,
      unit: "ms",
    }),
    verdict("streaming, bulk", beside("bulk", "hono-pipe", 1), beside("bulk", "portkey", 0.2)),
    verdict(
      "streaming, 64 × 50 tokens/s",
      beside("paced-64", "hono-pipe", 0.75),
      beside("paced-64", "portkey", 0.55),
    ),
    verdict(
      "streaming, 256 × 50 tokens/s",
      beside("paced-256", "hono-pipe", 0.75),
      beside("paced-256", "portkey", 0.55),
    ),
    verdict(
      "added latency of a token, 64 × 50",
      { text: "p50 0.15 ms", value: added("p50"), most: 0.15, unit: "ms" },
      { text: "p99 2 ms", value: added("p99"), most: 2, unit: "ms" },
    ),
    verdict("time to first token added", {
      text: "0.3 ms",
      value: minus(of("first-token", "gateway", "first"), of("first-token", "direct", "first")),
      most: 0.3,
      unit: "ms",
    }),
    verdict("memory of an open stream", {
      text: "100 KB",
      value: of("open", "gateway", "rssPerStream"),
      most: 100,
      unit: "KB",
    }),
    verdict("SSE in to SSE out, the core", { text: "0.7 µs", value: core, most: 0.7, unit: "µs" }),
  ];
}

function verdict(path: string, ...bounds: readonly Bound[]): Verdict {
  const target = bounds.map(({ text, least }) => `${least === undefined ? "≤" : "≥"} ${text}`);
  const known = bounds.every(({ value }) => value !== undefined && !Number.isNaN(value));
  if (!known) return { path, target: target.join(", "), measured: undefined, met: undefined };
  return {
    path,
    target: target.join(", "),
    measured: bounds.map(({ value = NaN, unit }) => `${toText(value)} ${unit}`).join(", "),
    met: bounds.every(
      ({ value = NaN, most = Infinity, least = -Infinity }) => value <= most && value >= least,
    ),
  };
}

/** Three significant digits, no exponent. */
export function toText(value: number): string {
  if (Number.isNaN(value)) return "–";
  const digits = value >= 100 ? 0 : value >= 10 ? 1 : value >= 1 ? 2 : 3;
  return value
    .toFixed(digits)
    .replace(/\B(?=(\d{3})+(?!\d))(?=\d*(\.|$))/g, digits === 0 ? "," : "");
}

function ratio(value: number | undefined, other: number | undefined): number | undefined {
  return value === undefined || other === undefined ? undefined : value / other;
}

function minus(value: number | undefined, other: number | undefined): number | undefined {
  return value === undefined || other === undefined ? undefined : value - other;
}
