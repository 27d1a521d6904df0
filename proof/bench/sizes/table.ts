/** The sizes of conversations as lines, and of tools as columns. */
import type { Grid } from "../report.ts";
import type { Measured } from "../statistics.ts";
import { toText } from "../targets.ts";
import type { SizeRow } from "./suite.ts";

/** A column: the measured request, and the number of tools. */
export interface Series {
  readonly kind: "first" | "next" | "pipe";
  readonly tools: number;
}

export const TOOLS: readonly number[] = [0, 10, 50, 200];

export const SERIES: readonly Series[] = [
  ...TOOLS.map((tools) => ({ kind: "first", tools }) as const),
  ...TOOLS.map((tools) => ({ kind: "next", tools }) as const),
  { kind: "pipe", tools: 0 },
  { kind: "pipe", tools: 200 },
];

export const TITLES = { first: "first request", next: "next turn", pipe: "hono-pipe" } as const;

/** The table of sizes, in ms of CPU. */
export function toSizesTable(sizes: readonly SizeRow[]): Grid {
  const find = (tokens: number, { kind, tools }: Series): Measured | undefined =>
    sizes.find((each) => each.tokens === tokens && each.tools === tools)?.[kind];
  return {
    head: ["tokens", ...SERIES.map(({ kind, tools }) => `${TITLES[kind]}, ${tools} tools`)],
    rows: [...new Set(sizes.map(({ tokens }) => tokens))].map((tokens) => [
      tokens.toLocaleString("en"),
      ...SERIES.map((each) => toText((find(tokens, each)?.median ?? NaN) / 1000)),
    ]),
  };
}
