import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { findPages } from "../../scripts/docs/fences.ts";
import { drawSizes } from "../../proof/bench/sizes/chart.ts";
import { findTable, proseOf, readFigures, withFigures } from "../../scripts/figures.ts";

const ROOT = join(import.meta.dirname, "../..");
const figures = readFigures(ROOT);
const pages = findPages(ROOT).map((name) => ({
  name,
  text: readFileSync(join(ROOT, name), "utf8"),
}));

/** A formatter aligns tables. */
const unaligned = (text: string): string =>
  text.replaceAll(/(?<=\|) :?-+:? (?=\|)/g, " - ").replaceAll(/ +/g, " ");

test.each(pages)(
  "$name quotes docs/figures.json: if not, run scripts/write-figures.ts",
  ({ text }) => {
    expect(unaligned(text)).toBe(unaligned(withFigures(text, figures)));
  },
);

test("an unknown figure is an error", () => {
  expect(() => withFigures("<!-- figure: no-such -->1 ms<!-- / -->", figures)).toThrow(
    'docs/figures.json has no figure "no-such".',
  );
});

test("an unknown table is an error", () => {
  expect(() => withFigures("<!-- table: token-cpu -->\n\n<!-- / -->", figures)).toThrow(
    'docs/figures.json has no table "token-cpu".',
  );
});

test("each figure was measured at a commit, without changes beside it", () => {
  const commits = Object.values(figures).map(({ commit }) => commit);
  expect(commits.filter((commit) => commit.endsWith("-dirty"))).toEqual([]);
});

test("a chart shows its table: if not, run scripts/write-figures.ts", () => {
  const drawn = readFileSync(join(ROOT, "docs/images/request-cost.svg"), "utf8");
  expect(drawn).toBe(drawSizes(findTable(figures, "request-cost")));
});

test("no measured request costs more in proportion than a shorter one, as docs/performance.md says", () => {
  const rows = findTable(figures, "request-cost").rows.map((cells) =>
    cells.map((cell) => Number(cell.replaceAll(",", ""))),
  );
  const costsPerToken = rows.map(([tokens = NaN, ...costs]) => costs.map((cost) => cost / tokens));
  for (const [at, longer] of costsPerToken.slice(1).entries()) {
    for (const [column, cost] of longer.entries()) {
      // A measurement may be off by a fifth. The sizes grow threefold, so that a square would be off by more.
      expect(cost).toBeLessThanOrEqual(1.2 * (costsPerToken[at]?.[column] ?? NaN));
    }
  }
});

describe("a measured figure stands in a page only as a quote", () => {
  /** Reports of measurements, and notes for those who change the code. */
  const REPORTS =
    /^(?:proof\/|docs\/decisions|docs\/evidence\/|docs\/(?:comparison|security-evidence)|CHANGELOG|CONTRIBUTING)/;
  const FIGURE = /(?<![\w.])\d[\d,.]*\s?(?:KB|MB|ms|µs|%|×|tokens\/s)(?!\w)/g;

  test.each(pages.filter(({ name }) => !REPORTS.test(name)))("$name", ({ text }) => {
    expect(proseOf(text).match(FIGURE) ?? []).toEqual([]);
  });
});
