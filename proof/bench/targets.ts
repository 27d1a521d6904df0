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
  /** The same as an absolute number. */
  readonly absolute?: string;
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
  /** A time that a peer needs in the same run, which cancels out the machine: `ms` were the target where the peer took `of`. */
  const share = (
    other: string,
    target: { readonly most: number; readonly of: number; readonly unit: string },
    value: number | undefined,
    peer: number | undefined,
    name = "",
  ): Bound => ({
    text: `${name}${toText(target.most / target.of)} × ${other} (${target.most} of ${target.of} ${target.unit})`,
    value: ratio(value, peer),
    absolute: `${toText(value ?? NaN)} of ${toText(peer ?? NaN)} ${target.unit}`,
    most: target.most / target.of,
    unit: `× ${other}`,
  });
  const worst = Object.values(results.text?.worst100Kb["own"] ?? {}).map((each) => each.median);
  const ready = (name: string): number | undefined =>
    results.text?.coldStart[name]?.["readyMs"]?.median;
  const turn = (tokens: number, column: string): number | undefined =>
    results.inner?.conversations.find((each) => each["tokens"]?.median === tokens)?.[column]
      ?.median;
  const nextTurn = (tokens: number, most: number, peer: number): Bound =>
    share(
      "js-tiktoken",
      { most, of: peer, unit: "ms" },
      turn(tokens, "seenMs"),
      turn(tokens, "jsTiktokenMs"),
    );
  const core = (reads: string, most: number, peer: number, name: string): Bound => {
    const times = results.inner?.core;
    const own = times?.[`core, ${reads}`]?.median;
    return share(
      "naive",
      { most, of: peer, unit: "µs" },
      own,
      times?.[`naive, ${reads}`]?.median,
      name,
    );
  };
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
    verdict(
      "tokenizer ready",
      share("js-tiktoken", { most: 30, of: 575, unit: "ms" }, ready("own"), ready("js-tiktoken")),
    ),
    verdict("command listening, CPU", atMost(250, "ms", of("start", "gateway", "cpu"))),
    verdict("turn n+1 of 100,000 tokens", nextTurn(100_000, 2.3, 195)),
    verdict("turn n+1 of 400,000 tokens", nextTurn(400_000, 10, 819)),
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
      core("one event per read", 1.3, 3.3, "an event a read "),
      core("reads of 64 KB", 0.35, 3.3, "bulk "),
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
    measured: bounds.map(toMeasuredText).join(", "),
    met: bounds.every(
      ({ value = NaN, most = Infinity, least = -Infinity }) => value <= most && value >= least,
    ),
  };
}

function toMeasuredText({ value = NaN, unit, absolute }: Bound): string {
  return `${toText(value)} ${unit}${absolute === undefined ? "" : ` (${absolute})`}`;
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
