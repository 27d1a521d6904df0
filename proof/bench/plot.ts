/** Plots the results: CPU per token of each contender, relative to the byte pipe, in each scenario. */
import { compareContenders, type Results } from "./results.ts";
import { SCENARIOS } from "./streaming/scenarios.ts";
import { toText } from "./targets.ts";

const PLOTTED = ["bulk", "paced-64", "paced-256", "paced-1000"];
const BESIDE = "hono-pipe";
const COLOURS: Readonly<Record<string, string>> = {
  gateway: "#1f6feb",
  "gateway-responses": "#58a6ff",
  [BESIDE]: "#8b949e",
  "http-pipe": "#b1bac4",
  portkey: "#d29922",
  nginx: "#3fb950",
};

const WIDTH = 860;
const LEFT = 150;
const RIGHT = 150;
const BAR = 18;
const GAP = 6;

/** Undefined if the run had no streaming suite. */
export function toSvg({ streaming = {} }: Results): string | undefined {
  const groups = PLOTTED.flatMap((name) => {
    const contenders = Object.entries(streaming[name] ?? {}).flatMap(([contender, numbers]) => {
      const value = numbers["cpuPerToken"]?.median;
      if (value === undefined || Number.isNaN(value)) return [];
      const ratio = compareContenders(streaming, name, "cpuPerToken", contender, BESIDE)?.value;
      return [{ contender, value, ratio }];
    });
    return contenders.length === 0 ? [] : [{ title: titleOf(name), contenders }];
  });
  if (groups.length === 0) return undefined;
  const parts: string[] = [];
  let y = 50;
  for (const { title, contenders } of groups) {
    const most = Math.max(...contenders.map(({ value }) => value));
    parts.push(text(20, y, title, 'font-weight="600"'));
    y += 12;
    for (const { contender, value, ratio } of contenders) {
      const width = Math.max(1, ((WIDTH - LEFT - RIGHT) * value) / most);
      const beside = ratio === undefined ? "" : `  (${toText(ratio)} × pipe)`;
      parts.push(
        text(LEFT - 10, y + 13, contender, 'text-anchor="end"'),
        `<rect x="${LEFT}" y="${y}" width="${width.toFixed(1)}" height="${BAR}" rx="3" fill="${COLOURS[contender] ?? "#a371f7"}"/>`,
        text(LEFT + width + 6, y + 13, `${toText(value)} µs${beside}`),
      );
      y += BAR + GAP;
    }
    y += 30;
  }
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${y}" viewBox="0 0 ${WIDTH} ${y}" ` +
    'font-family="system-ui, sans-serif" font-size="12" fill="#1f2328">\n' +
    `<rect width="${WIDTH}" height="${y}" fill="#ffffff"/>\n` +
    `${text(20, 24, "CPU of each token that passes through, lower is better", 'font-size="15" font-weight="700"')}\n` +
    `${parts.join("\n")}\n</svg>\n`
  );
}

function titleOf(name: string): string {
  return SCENARIOS.find((scenario) => scenario.name === name)?.title ?? name;
}

function text(x: number, y: number, content: string, attributes = ""): string {
  const escaped = content.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
  return `<text x="${x.toFixed(1)}" y="${y}" ${attributes}>${escaped}</text>`;
}
