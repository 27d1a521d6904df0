/** Results as Markdown. */
import { CORPORA } from "./text/corpora.ts";
import { toPeersTable } from "./peers-table.ts";
import { compareContenders, type Results } from "./results.ts";
import { toSizesTable } from "./sizes/table.ts";
import type { Scenario } from "./streaming/scenario.ts";
import { SCENARIOS } from "./streaming/scenarios.ts";
import type { Estimate, Measured } from "./statistics.ts";
import { judge, toText } from "./targets.ts";
import type { Table } from "./text/suite.ts";

/** A table's cells as text. */
export interface Grid {
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/** The base of all ratios: the first of these that took part. */
const BASELINES = ["hono-pipe", "pipe"];

export function toMarkdown(results: Results): string {
  const { machine, command, rounds } = results;
  const head =
    `\`${command}\` on ${machine.cpu}, ${machine.cores} cores, ${machine.memoryGb} GB, Linux ${machine.kernel}, ` +
    `Node ${machine.node}, commit ${machine.commit}, ${machine.startedAt.slice(0, 16).replace("T", " ")} UTC; ` +
    `load before the run ${machine.loadBefore.toFixed(1)}. Medians of ${rounds} interleaved rounds, with the lowest ` +
    "and the highest in parentheses. Ratios: over the same windows, with their 95 % interval in brackets; a contender that " +
    "takes a hundred times as long as the others has windows of its own.";
  const parts = [
    head,
    targetsTable(results),
    titled("Beside other gateways", toPeersTable(results)),
    ...streamingTables(results),
    ...textTables(results),
    ...innerTables(results),
    titled("A request by size, ms of CPU", results.sizes && toSizesTable(results.sizes)),
  ];
  return `${parts.filter((part) => part !== "").join("\n\n")}\n`;
}

function targetsTable(results: Results): string {
  const rows = judge(results)
    .filter(({ measured }) => measured !== undefined)
    .map(({ path, target = "–", measured = "", met }) => [
      path,
      target,
      measured,
      met === undefined ? "" : met ? "met" : "**missed**",
    ]);
  if (rows.length === 0) return "";
  return `### Targets\n\n${table(["path", "target", "measured", ""], rows)}`;
}

function titled(title: string, grid: Grid | undefined): string {
  return grid === undefined ? "" : `### ${title}\n\n${table(grid.head, grid.rows)}`;
}

function streamingTables({ streaming = {} }: Results): string[] {
  return SCENARIOS.filter(({ name }) => streaming[name] !== undefined).map((scenario) => {
    const measured = streaming[scenario.name] ?? {};
    const other = BASELINES.find((name) => measured[name] !== undefined);
    return scenario.kind === "same-windows" && other !== undefined
      ? comparedTable(scenario, measured, scenario.compared, other)
      : comparedTable(scenario, measured, [], "");
  });
}

/** A row for each contender: the measured value, after the ratio to `other` if it is compared. */
function comparedTable(
  { name, title, columns }: Scenario,
  measured: Readonly<Record<string, Readonly<Record<string, Measured>>>>,
  compared: readonly string[],
  other: string,
): string {
  const head = Object.entries(columns).flatMap(([column, unit]) =>
    compared.includes(column) ? [`× ${other}`, unit] : [unit],
  );
  const rows = Object.entries(measured).map(([contender, numbers]) => [
    contender,
    ...Object.keys(columns).flatMap((column) => {
      const cell = toCell(numbers[column]);
      if (!compared.includes(column)) return [cell];
      return [
        toRatio(compareContenders({ [name]: measured }, name, column, contender, other)),
        cell,
      ];
    }),
  ]);
  return `### ${title}\n\n${table(["", ...head], rows)}`;
}

function textTables({ text }: Results): string[] {
  if (text === undefined) return [];
  const titles = CORPORA.map(({ title }) => title);
  const names = CORPORA.map(({ name }) => name);
  const growth = Object.entries(text.growth).map(([kind, times]) => [kind, ...times.map(toCell)]);
  const { own: worst100Kb = {} } = text.worst100Kb;
  const worst = Object.entries(text.worst["own"] ?? {}).map(([kind, ms]) => [
    kind,
    toCell(worst100Kb[kind]),
    toCell(ms),
  ]);
  return [
    `### Encoding uncached text, MB/s\n\n${byEncoder(text.unseen, names, titles)}`,
    `### Encoding the same text again, MB/s\n\n${byEncoder(text.repeated, names, titles)}`,
    `### Text without anything that ends a piece, ms\n\n${table(["", "100 KB of UTF-8", "100,000 characters"], worst)}`,
    `### Growth: ms for 50,000 characters and 2, 4, 8 times as many\n\n${table(["", "×1", "×2", "×4", "×8"], growth)}`,
    `### Cold start, each in a fresh process\n\n${byEncoder(
      text.coldStart,
      ["readyMs", "heapMb", "rssMb"],
      ["ready, ms", "heap and external, MB", "RSS, MB"],
    )}`,
  ];
}

function byEncoder(numbers: Table, columns: readonly string[], titles: readonly string[]): string {
  const rows = Object.entries(numbers).map(([encoder, row]) => [
    encoder,
    ...columns.map((column) => toCell(row[column])),
  ]);
  return table(["", ...titles], rows);
}

function innerTables({ inner }: Results): string[] {
  if (inner === undefined) return [];
  const conversations = inner.conversations.map((row) => [
    toText(row["tokens"]?.median ?? NaN),
    toText((row["bytes"]?.median ?? NaN) / 1000),
    ...["seenMs", "unseenMs", "jsonParseMs", "jsTiktokenMs"].map((column) => toCell(row[column])),
  ]);
  return [
    `### A conversation's next request, from its bytes to the engine's request, ms\n\n${table(
      ["tokens", "KB", "turn n+1", "uncached", "JSON.parse alone", "js-tiktoken alone"],
      conversations,
    )}`,
  ];
}

function toCell(value: Measured | undefined): string {
  if (value === undefined || Number.isNaN(value.median)) return "–";
  const { median, min, max, rounds } = value;
  return rounds.length < 2 ? toText(median) : `${toText(median)} (${toText(min)}–${toText(max)})`;
}

/** Formats a ratio, for instance `1.21 [1.18, 1.25]`. */
export function toRatio(estimate: Estimate | undefined): string {
  if (estimate === undefined) return "–";
  const { value, low, high } = estimate;
  return `${value.toFixed(2)} [${low.toFixed(2)}, ${high.toFixed(2)}]`;
}

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
  const rule = head.map((_, at) => (at === 0 ? "---" : "---:"));
  return [line(head), line(rule), ...rows.map((row) => line(row))].join("\n");
}
