/**
 * Measured figures have one source, `docs/figures.json`. A page quotes one as `<!-- figure: id -->75 KB<!-- / -->`, and
 * `node scripts/write-docs.ts` writes its text there, or a whole table behind `<!-- table: id -->`.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";

/** The source of a measurement. */
const source = {
  command: z.string(),
  /** The measured commit, without uncommitted changes. */
  commit: z.string().regex(/(?<!-dirty)$/),
  date: z.iso.date(),
  machine: z.string(),
};

const figure = z.strictObject({
  /** The measured quantity, in words. */
  what: z.string(),
  /** The value with its unit, as pages quote it. */
  text: z.string(),
  /** The bound it is compared with, where there is one. */
  bound: z.string().optional(),
  met: z.boolean().optional(),
  ...source,
});

/** A page has it whole, with its source below it. */
const table = z.strictObject({
  what: z.string(),
  head: z.array(z.string()),
  rows: z.array(z.array(z.string())),
  ...source,
});

const figures = z.record(z.string(), z.union([figure, table]));

export type Figure = z.output<typeof figure>;
export type FigureTable = z.output<typeof table>;
export type Figures = Readonly<Record<string, Figure | FigureTable>>;

const QUOTE = /<!-- figure: (\S+) -->(.*?)<!-- \/ -->/gs;
const TABLE = /(<!-- table: (\S+) -->\n)[\s\S]*?(\n<!-- \/ -->)/g;
const BOUNDS = /(<!-- figures: (\S+) -->\n)[\s\S]*?(\n<!-- \/ -->)/g;

export function readFigures(root: string): Figures {
  return figures.parse(JSON.parse(readFileSync(join(root, "docs/figures.json"), "utf8")));
}

/** The page with each quote and each table as the source has them. Throws for an unknown id. */
export function withFigures(page: string, all: Figures): string {
  return page
    .replace(
      QUOTE,
      (_, id: string) => `<!-- figure: ${id} -->${findFigure(all, id).text}<!-- / -->`,
    )
    .replace(
      TABLE,
      (_, head: string, id: string, foot: string) => head + toTable(findTable(all, id)) + foot,
    )
    .replace(
      BOUNDS,
      (_, head: string, command: string, foot: string) => head + toBounds(all, command) + foot,
    );
}

function findFigure(all: Figures, id: string): Figure {
  const found = all[id];
  if (found === undefined || !("text" in found)) {
    throw new Error(`docs/figures.json has no figure "${id}".`);
  }
  return found;
}

export function findTable(all: Figures, id: string): FigureTable {
  const found = all[id];
  if (found === undefined || !("rows" in found)) {
    throw new Error(`docs/figures.json has no table "${id}".`);
  }
  return found;
}

function toTable({ head, rows, command, commit, date, machine }: FigureTable): string {
  const rule = head.map((_, at) => (at === 0 ? "---" : "---:"));
  return [
    "",
    toAligned([head, rule, ...rows]),
    "",
    `\`${command}\`, ${date}, commit ${commit}, ${machine}.`,
    "",
  ].join("\n");
}

/** All figures with a bound, whose command begins so. */
function toBounds(all: Figures, command: string): string {
  const rows = Object.values(all)
    .filter((each) => "text" in each)
    .filter((each) => each.bound !== undefined)
    .filter((each) => each.command.replaceAll(" ", "-").startsWith(command))
    .map(({ what, text, bound = "", commit, date }) => [what, bound, text, `${date}, ${commit}`]);
  const head = ["path", "bound", "measured", ""];
  return ["", toAligned([head, head.map(() => "---"), ...rows]), ""].join("\n");
}

/** Aligns a table like the formatter: the second row is the rule. */
export function toAligned(rows: readonly (readonly string[])[]): string {
  const [head = [], rule = []] = rows;
  const widths = head.map((_, at) => Math.max(...rows.map((cells) => cells[at]?.length ?? 0)));
  return rows
    .map((cells) => {
      const aligned = cells.map((cell, at) => {
        const width = widths[at] ?? 0;
        if (cells === rule) return cell.replace("---", "-".repeat(width - cell.length + 3));
        return rule[at]?.endsWith(":") ? cell.padStart(width) : cell.padEnd(width);
      });
      return `| ${aligned.join(" | ")} |`;
    })
    .join("\n");
}
