/** The bounds of performance: what was measured for each, and whether it is kept. */
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
  const atMost = (most: number, unit: string, value: number | undefined): Bound => ({
    text: `${most} ${unit}`,
    value,
    most,
    unit,
  });
  /** Of the time that js-tiktoken takes in the same run. */
  const share = (most: number, value: number | undefined, peer: number | undefined): Bound =>
    atMost(most, "× js-tiktoken", ratio(value, peer));
  const worst = Object.values(results.text?.worst100Kb["own"] ?? {}).map((each) => each.median);
  const ready = (name: string): number | undefined =>
    results.text?.coldStart[name]?.["readyMs"]?.median;
  const turn = (tokens: number, column: string): number | undefined =>
    results.inner?.conversations.find((each) => each["tokens"]?.median === tokens)?.[column]
      ?.median;
  const nextTurn = (tokens: number): Bound =>
    share(0.02, turn(tokens, "seenMs"), turn(tokens, "jsTiktokenMs"));
  const added = (scenario: string, column: string, other: string): number | undefined =>
    minus(of(scenario, "gateway", column), of(scenario, other, column));

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
    verdict("command listening, CPU", atMost(250, "ms", of("start", "gateway", "cpu"))),
    verdict("turn n+1 of 100,000 tokens", nextTurn(100_000)),
    verdict("turn n+1 of 400,000 tokens", nextTurn(400_000)),
    verdict("streaming, bulk", beside("bulk", "hono-pipe", 1.1)),
    verdict("streaming, 64 × 50 tokens/s", beside("paced-64", "hono-pipe", 0.8)),
    verdict("streaming, 256 × 10 tokens/s", beside("paced-256", "hono-pipe", 0.95)),
    verdict("streaming, 256 × 10 tokens/s", beside("paced-256", "portkey", 0.6)),
    verdict("Responses, bulk", beside("bulk", "gateway", 1.3, { contender: "gateway-responses" })),
    verdict("latency of a token, p50", beside("latency", "hono-pipe", 1, { column: "p50" })),
    verdict("latency of a token, p99", beside("latency", "hono-pipe", 1, { column: "p99" })),
    verdict(
      "first token, over hono-pipe",
      atMost(0.4, "ms", added("first-token", "first", "hono-pipe")),
    ),
    verdict(
      "short request, CPU",
      beside("requests", "hono-pipe", 1.3, { column: "cpuPerRequest" }),
    ),
    verdict("memory of an open stream", atMost(100, "KB", of("open", "gateway", "rssPerStream"))),
  ];
}

function verdict(path: string, bound: Bound): Verdict {
  const { text, value, most = Infinity, least = -Infinity, unit } = bound;
  const target = `${bound.least === undefined ? "≤" : "≥"} ${text}`;
  if (value === undefined || Number.isNaN(value)) {
    return { path, target, measured: undefined, met: undefined };
  }
  return {
    path,
    target,
    measured: `${toText(value)} ${unit}`,
    met: value <= most && value >= least,
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

function minus(value: number | undefined, other: number | undefined): number | undefined {
  return value === undefined || other === undefined ? undefined : value - other;
}
