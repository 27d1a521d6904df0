import { afterAll, beforeAll, expect, test } from "vitest";
import { startStepCounter, type StepCounter } from "../../helpers/count-steps.ts";
import { HOSTILE_PAGES, type HostilePage, toHostilePage } from "../../helpers/hostile-pages.ts";

const SMALL = 10_000;
const LARGE = 1_000_000;

/**
 * The beginnings of the patterns that may run over long texts. A count of steps does not show what a pattern does inside, but
 * no attempt of these at one place passes over what more than two other attempts pass over.
 */
const LINEAR = [
  // White space, and single characters.
  String.raw`\s+`,
  String.raw`[\u200B-\u200D\uFEFF]`,
  // Chunks of a line: an attempt ends at white space, a hyphen or a run of dashes.
  String.raw`[\t\v\f\r ]+|`,
  // Links, which contain no brackets.
  String.raw`^[^\u3010\u3011]*\u3011`,
  String.raw`\u3010\d*(?:`,
  String.raw`\u3010\d+\u2020`,
];

let counter: StepCounter;
beforeAll(async () => {
  counter = await startStepCounter(new URL("page-work.ts", import.meta.url));
});
afterAll(() => counter.stop());

test.each(HOSTILE_PAGES)("S3: a page of $name costs what its length costs", async (page) => {
  const small = await open(page, SMALL);
  const large = await open(page, LARGE);
  expect(large.steps / small.steps).toBeLessThanOrEqual(1.5 * (LARGE / SMALL));
  const others = large.patterns.filter((each) => !LINEAR.some((known) => each.startsWith(known)));
  expect(others).toEqual([]);
});

function open(page: HostilePage, length: number) {
  const body = toHostilePage(page, length);
  return counter.count({ type: page.type ?? "text/html", body });
}
