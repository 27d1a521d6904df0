/**
 * Writes measured figures into the pages: `node scripts/write-figures.ts`. With a file of results of `npm run bench`, their figures replace
 * those in `docs/figures.json` first.
 */
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { toFigures } from "../proof/bench/figures.ts";
import { drawSizes } from "../proof/bench/sizes/chart.ts";
import { findPages } from "./docs/fences.ts";
import { type Figures, findTable, readFigures, withFigures } from "./figures.ts";

const ROOT = join(import.meta.dirname, "..");
let figures: Figures = readFigures(ROOT);

for (const path of process.argv.slice(2)) {
  figures = { ...figures, ...toFigures(JSON.parse(readFileSync(path, "utf8"))) };
}
writeFileSync(join(ROOT, "docs/figures.json"), `${JSON.stringify(figures, null, 2)}\n`);
writeFileSync(
  join(ROOT, "docs/images/request-cost.svg"),
  drawSizes(findTable(figures, "request-cost")),
);

const pages = findPages(ROOT).map((page) => join(ROOT, page));
const changed = pages.filter((page) => {
  const before = readFileSync(page, "utf8");
  const after = withFigures(before, figures);
  if (after !== before) writeFileSync(page, after);
  return after !== before;
});
execFileSync(join(ROOT, "node_modules/.bin/oxfmt"), ["docs/figures.json", ...changed], {
  cwd: ROOT,
});
