/**
 * Writes measured figures into the pages: `node scripts/write-figures.ts`. With a file of results of `npm run bench`, their figures replace
 * those in `docs/figures.json` first.
 */
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Results } from "../proof/bench/results.ts";
import { judge } from "../proof/bench/targets.ts";
import { findPages } from "./docs/fences.ts";
import { type Figure, readFigures, withFigures } from "./figures.ts";

const ROOT = join(import.meta.dirname, "..");
const figures: Record<string, Figure> = { ...readFigures(ROOT) };

for (const path of process.argv.slice(2)) {
  const results: Results = JSON.parse(readFileSync(path, "utf8"));
  const { machine, command } = results;
  for (const { path: what, target, measured, met } of judge(results)) {
    if (measured === undefined || met === undefined) continue;
    figures[toId(what, target)] = {
      what,
      text: measured,
      bound: target,
      met,
      command,
      commit: machine.commit,
      date: machine.startedAt.slice(0, 10),
      machine: `${machine.cores} cores, ${machine.cpu}, Node ${machine.node}, load before ${machine.loadBefore.toFixed(1)}`,
    };
  }
}
writeFileSync(join(ROOT, "docs/figures.json"), `${JSON.stringify(figures, null, 2)}\n`);

const pages = findPages(ROOT).map((page) => join(ROOT, page));
const changed = pages.filter((page) => {
  const before = readFileSync(page, "utf8");
  const after = withFigures(before, figures);
  if (after !== before) writeFileSync(page, after);
  return after !== before;
});
if (changed.length > 0) execFileSync(join(ROOT, "node_modules/.bin/oxfmt"), changed);

/** Two bounds of one path differ by the peer that they name. */
function toId(what: string, target: string): string {
  const peer = target.endsWith("portkey") ? " beside portkey" : "";
  return `${what}${peer}`.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-");
}
