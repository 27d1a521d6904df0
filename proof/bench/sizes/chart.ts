/** Draws the table of sizes: both axes logarithmic, so that a cost that grows with the size is a line of slope one. */
import { SERIES, type Series, TITLES } from "./table.ts";
import type { Grid } from "../report.ts";

interface Point {
  readonly tokens: number;
  readonly ms: number;
}

interface Line extends Series {
  readonly points: readonly Point[];
}

const WIDTH = 960;
const HEIGHT = 350;
const TOP = 48;
const BOTTOM = 320;
/** Left edges of the two panels. */
const PANELS = { first: 145, next: 625 } as const;
const PANEL_WIDTH = 270;
/** Readable on white and on black. */
const TEXT = "#6e7681";
const COLORS: Readonly<Record<number, string>> = {
  0: "#2f81f7",
  10: "#1a9e75",
  50: "#c77800",
  200: "#db4c77",
};
const TICKS_MS = [0.1, 0.3, 1, 3, 10, 30, 100, 300];
const LABEL_HEIGHT = 13;

export function drawSizes({ rows }: Grid): string {
  const lines = SERIES.map((series, column) => ({
    ...series,
    points: rows.map((row) => ({ tokens: toNumber(row[0]), ms: toNumber(row[column + 1]) })),
  }));
  const times = lines.flatMap(({ points }) => points.map(({ ms }) => ms));
  const scale = createScale(times, lines[0]?.points ?? []);
  const panels = (["first", "next"] as const).map((panel) => drawPanel(panel, lines, scale));
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" font-family="system-ui, sans-serif" font-size="12" fill="${TEXT}">`,
    "<title>CPU of a request by the size of its conversation and the number of its tools</title>",
    ...panels.flat(),
    "</svg>",
  ].join("\n")}\n`;
}

interface Scale {
  readonly sizes: readonly number[];
  readonly ticks: readonly number[];
  x(panel: keyof typeof PANELS, tokens: number): number;
  y(ms: number): number;
}

function createScale(times: readonly number[], points: readonly Point[]): Scale {
  const least = TICKS_MS.findLast((tick) => tick <= Math.min(...times)) ?? Math.min(...times);
  const most = TICKS_MS.find((tick) => tick >= Math.max(...times)) ?? Math.max(...times);
  const sizes = points.map(({ tokens }) => tokens);
  const share = (value: number, from: number, to: number): number =>
    Math.log(value / from) / Math.log(to / from);
  return {
    sizes,
    ticks: TICKS_MS.filter((tick) => tick >= least && tick <= most),
    x: (panel, tokens) =>
      PANELS[panel] + PANEL_WIDTH * share(tokens, Math.min(...sizes), Math.max(...sizes)),
    y: (ms) => BOTTOM - (BOTTOM - TOP) * share(ms, least, most),
  };
}

function drawPanel(panel: "first" | "next", lines: readonly Line[], scale: Scale): string[] {
  const left = PANELS[panel];
  const shown = lines.filter(({ kind }) => kind === panel || kind === "pipe");
  const grid = scale.ticks.flatMap((ms) => [
    `<path d="M${left} ${round(scale.y(ms))}h${PANEL_WIDTH}" stroke="${TEXT}" stroke-opacity="0.25"/>`,
    text(left + PANEL_WIDTH + 6, scale.y(ms) + 4, `${ms} ms`),
  ]);
  const sizes = scale.sizes.map((tokens) =>
    text(scale.x(panel, tokens), BOTTOM + 20, `${tokens / 1000}k`, "middle"),
  );
  return [
    text(left, 22, `${TITLES[panel]}: CPU by tokens of the conversation`),
    ...grid,
    ...sizes,
    ...shown.map((line) => drawLine(panel, line, scale)),
    ...drawLabels(panel, shown, scale),
  ];
}

function drawLine(panel: "first" | "next", line: Line, scale: Scale): string {
  const points = line.points
    .map(({ tokens, ms }) => `${round(scale.x(panel, tokens))},${round(scale.y(ms))}`)
    .join(" ");
  const dashes = line.kind === "pipe" ? ' stroke-dasharray="4 4"' : "";
  return `<polyline points="${points}" fill="none" stroke="${toColor(line)}" stroke-width="2"${dashes}/>`;
}

/** Labels at the beginning of each line, where the lines are apart; labels that would overlap are moved. */
function drawLabels(panel: "first" | "next", lines: readonly Line[], scale: Scale): string[] {
  const wanted = lines
    .map((line) => ({ line, y: scale.y(line.points[0]?.ms ?? NaN) + 4 }))
    .toSorted((a, b) => b.y - a.y);
  let lowest = Infinity;
  return wanted.map(({ line, y }) => {
    lowest = Math.min(y, lowest - LABEL_HEIGHT);
    const { kind, tools } = line;
    const label = kind === "pipe" ? `${TITLES.pipe}, ${tools} tools` : `${tools} tools`;
    return text(PANELS[panel] - 8, lowest, label, "end", toColor(line));
  });
}

function toColor({ kind, tools }: Series): string {
  return kind === "pipe" ? TEXT : (COLORS[tools] ?? TEXT);
}

function text(x: number, y: number, words: string, anchor = "start", color = TEXT): string {
  return `<text x="${round(x)}" y="${round(y)}" text-anchor="${anchor}" fill="${color}">${words}</text>`;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

function toNumber(cell = ""): number {
  return Number(cell.replaceAll(",", ""));
}
