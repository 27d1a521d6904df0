/**
 * Measured figures have one source, `docs/figures.json`. A page quotes one as `<!-- figure: id -->75 KB<!-- / -->`, and
 * `node scripts/write-figures.ts` writes its text there.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";

const figure = z.strictObject({
  /** What was measured, in words. */
  what: z.string(),
  /** The value with its unit, as pages quote it. */
  text: z.string(),
  /** The bound it is compared with, where there is one. */
  bound: z.string().optional(),
  met: z.boolean().optional(),
  command: z.string(),
  commit: z.string(),
  date: z.iso.date(),
  machine: z.string(),
});

const figures = z.record(z.string(), figure);

export type Figure = z.output<typeof figure>;
export type Figures = Readonly<Record<string, Figure>>;

const QUOTE = /<!-- figure: (\S+) -->(.*?)<!-- \/ -->/gs;
const TABLE = /(<!-- figures: (\S+) -->\n)[\s\S]*?(\n<!-- \/ -->)/g;

export function readFigures(root: string): Figures {
  return figures.parse(JSON.parse(readFileSync(join(root, "docs/figures.json"), "utf8")));
}

/** The page with each quote and each table of figures as the source has them. Throws for an unknown id. */
export function withFigures(page: string, all: Figures): string {
  return page
    .replace(QUOTE, (_, id: string) => `<!-- figure: ${id} -->${find(all, id).text}<!-- / -->`)
    .replace(
      TABLE,
      (_, head: string, command: string, foot: string) => head + toTable(all, command) + foot,
    );
}

/** Text without its quotes, tables, code and links: the prose, in which no figure may stand. */
export function proseOf(page: string): string {
  return page
    .replace(QUOTE, "")
    .replace(/^```[\s\S]*?^```/gm, "")
    .replace(/^\|.*$/gm, "")
    .replace(/`[^`\n]*`/g, "")
    .replace(/<!--[\s\S]*?-->/g, "")
    .replace(/\]\([^)\n]*\)/g, "]");
}

function find(all: Figures, id: string): Figure {
  const found = all[id];
  if (found === undefined) throw new Error(`docs/figures.json has no figure "${id}".`);
  return found;
}

/** All figures with a bound, whose command begins so. */
function toTable(all: Figures, command: string): string {
  const rows = Object.values(all)
    .filter(({ bound }) => bound !== undefined)
    .filter((each) => each.command.replaceAll(" ", "-").startsWith(command))
    .map(({ what, text, bound, met, commit, date }) =>
      ["", what, bound, met === true ? text : `**${text}**`, `${date}, ${commit}`, ""]
        .join(" | ")
        .trim(),
    );
  return ["", "| path | bound | measured | |", "| --- | --- | --- | --- |", ...rows, ""].join("\n");
}
