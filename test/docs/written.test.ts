/** `node scripts/write-docs.ts` would change no part of the docs that is generated from code or measurements. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { withSnippets } from "../../scripts/clients-doc.ts";
import { readFigures, withFigures } from "../../scripts/figures.ts";
import { toDocs } from "../../scripts/write-docs.ts";

const ROOT = join(import.meta.dirname, "../..");
const figures = readFigures(ROOT);

test.each([...toDocs(figures)])("writing the docs does not change %s", (path, text) => {
  expect(readFileSync(join(ROOT, path), "utf8")).toBe(text);
});

test("a bound that the docs show is kept", () => {
  expect(Object.values(figures).filter((each) => "met" in each && !each.met)).toEqual([]);
});

describe("a part that differs is written anew", () => {
  test.each([
    ["code of a client", "<!-- snippet: curl chat -->\n\n```sh\nold\n```"],
    ["a figure", "<!-- figure: token-cpu -->old<!-- / -->"],
    ["a table", "<!-- table: request-cost -->\nold\n<!-- / -->"],
    ["a list of bounds", "<!-- figures: npm-run-bench -->\nold\n<!-- / -->"],
  ])("%s", (_, text) => {
    const written = withFigures(withSnippets(text), figures);
    expect(written).not.toContain("old");
    expect(written.split("\n")[0]).toContain(text.split("-->")[0]);
  });
});

test.each([
  ["<!-- snippet: curl smoke -->\n\n```sh\n```", "There is no API smoke."],
  ["<!-- figure: no-such -->1 ms<!-- / -->", 'docs/figures.json has no figure "no-such".'],
  ["<!-- table: token-cpu -->\n\n<!-- / -->", 'docs/figures.json has no table "token-cpu".'],
])("%j is an error", (text, message) => {
  expect(() => withFigures(withSnippets(text), figures)).toThrow(message);
});
