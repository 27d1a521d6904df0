/**
 * Writes the parts of the docs that are made from code and measurements: `node scripts/write-docs.ts`. With files of
 * results of `npm run bench`, their figures replace those in `docs/figures.json` first.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { toFigures } from "../proof/bench/figures.ts";
import { drawSizes } from "../proof/bench/sizes/chart.ts";
import { RECOVERIES } from "../src/harmony/recoveries.ts";
import { toSettingsDocument } from "../src/node/cli/help.ts";
import { TURN_REPAIRS } from "../src/turn/repairs.ts";
import { withSnippets } from "./clients-doc.ts";
import { findPages } from "./docs/fences.ts";
import { toEnginesDocument } from "./engines-doc.ts";
import { toFieldsDocument } from "./fields-doc.ts";
import { type Figures, findTable, readFigures, toAligned, withFigures } from "./figures.ts";
import { toGuaranteesDocument } from "./guarantees-doc.ts";
import { withRevisions } from "./revisions.ts";
import { toRecordSchema } from "./record-schema.ts";
import { toSentences } from "./sentences.ts";
import { writeJson } from "./write-formatted.ts";

const ROOT = join(import.meta.dirname, "..");
const REPAIRS = /(<!-- repairs: (parser|turn) -->\n\n)[\s\S]*?(\n\n<!-- \/ -->)/;

/** Each file with its text, by its path from the root. */
export function toDocs(figures: Figures): Map<string, string> {
  const pages = findPages(ROOT).map((page) => [page, readFileSync(join(ROOT, page), "utf8")]);
  return new Map(
    Object.entries({
      // These pages have generated parts between hand-written text.
      ...Object.fromEntries(
        pages.map(([page, text = ""]) => [
          page,
          withFigures(withSnippets(withRevisions(withRepairs(text))), figures),
        ]),
      ),
      "docs/engines.md": toEnginesDocument(),
      "docs/fields.md": toFieldsDocument(),
      "docs/guarantees.md": toGuaranteesDocument(),
      "docs/images/request-cost.svg": drawSizes(findTable(figures, "request-cost")),
      "docs/sentences.txt": toSentences(),
      "docs/settings.md": toSettingsDocument(),
      "docs/turn-record.schema.json": toRecordSchema(),
    }),
  );
}

function withRepairs(page: string): string {
  return page.replace(REPAIRS, (_, head: string, by: string, foot: string) => {
    const rows = Object.entries(by === "turn" ? TURN_REPAIRS : RECOVERIES).map(
      ([name, meaning]) => [`\`${name}\``, meaning.replaceAll("|", "\\|")],
    );
    return head + toAligned([["name", "meaning"], ["---", "---"], ...rows]) + foot;
  });
}

if (import.meta.main) {
  const results = process.argv.slice(2);
  const measured = results.map((path) => toFigures(JSON.parse(readFileSync(path, "utf8"))));
  const figures: Figures = Object.assign(readFigures(ROOT), ...measured);
  if (results.length > 0) writeJson("docs/figures.json", figures);
  for (const [path, text] of toDocs(figures)) writeFileSync(join(ROOT, path), text);
}
