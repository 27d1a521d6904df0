/** The performance targets: what was measured for each, and whether it is met. */
import { compareContenders, type Results } from "./results.ts";

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
  const { streaming } = results;
  const of = (scenario: string, contender: string, column: string): number | undefined =>
    streaming?.[scenario]?.[contender]?.[column]?.median;
  const beside = (
    scenario: string,
    other: string,
    most: number,
    { column = "cpuPerToken", contender = "gateway" } = {},
  ): Bound => ({
    text: `${most} × ${other}`,
    value: compareContenders(streaming, scenario, column, contender, other)?.value,
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
  const atMost = (most: number, unit: string, value: number | undefined, name = ""): Bound => ({
    text: `${name}${most} ${unit}`,
    value,
    most,
    unit,
  });
  const worst = Object.values(results.text?.worst["own"] ?? {}).map((each) => each.median);
  const cold = results.text?.coldStart["own"];
  const turn = (tokens: number): number | undefined =>
    results.inner?.conversations.find((each) => each["tokens"]?.median === tokens)?.["seenMs"]
      ?.median;
  const core = (reads: string): number | undefined => results.inner?.core[`core, ${reads}`]?.median;
  const added = (scenario: string, column: string, other: string): number | undefined =>
    minus(of(scenario, "gateway", column), of(scenario, other, column));

  return [
    verdict("encode, unseen prose", faster("prose", 12)),
    verdict("encode, unseen code", faster("code", 12)),
    verdict("encode, unseen JSON", faster("json", 12)),
    verdict("encode, unseen CJK", faster("cjk", 25)),
    verdict(
      "any 100 KB of text",
      atMost(25, "ms", worst.length > 0 ? Math.max(...worst) : undefined),
    ),
    verdict("tokenizer ready", atMost(30, "ms", cold?.["readyMs"]?.median)),
    verdict("command listening, CPU", atMost(250, "ms", of("start", "gateway", "cpu"))),
    verdict("turn n+1 of 100,000 tokens", atMost(2.3, "ms", turn(100_000))),
    verdict("turn n+1 of 400,000 tokens", atMost(10, "ms", turn(400_000))),
    verdict("streaming, bulk", beside("bulk", "hono-pipe", 0.95)),
    verdict("streaming, 64 × 50 tokens/s", beside("paced-64", "hono-pipe", 0.85)),
    verdict(
      "streaming, 256 × 10 tokens/s",
      beside("paced-256", "hono-pipe", 0.95),
      beside("paced-256", "portkey", 0.58),
    ),
    verdict("Responses, bulk", beside("bulk", "gateway", 1.3, { contender: "gateway-responses" })),
    verdict(
      "added latency of a token, 64 × 50",
      atMost(0.13, "ms", added("latency", "p50", "direct"), "p50 "),
      atMost(2, "ms", added("latency", "p99", "direct"), "p99 "),
    ),
    verdict(
      "first token, over hono-pipe",
      atMost(0.12, "ms", added("first-token", "first", "hono-pipe")),
    ),
    verdict(
      "short request, CPU",
      beside("requests", "hono-pipe", 1.1, { column: "cpuPerRequest" }),
    ),
    verdict("memory of an open stream", atMost(80, "KB", of("open", "gateway", "rssPerStream"))),
    verdict(
      "SSE in to SSE out, the core",
      atMost(1.3, "µs", core("one event per read"), "an event a read "),
      atMost(0.35, "µs", core("reads of 64 KB"), "bulk "),
    ),
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
