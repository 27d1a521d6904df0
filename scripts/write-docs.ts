/** Writes the docs that are made from code: `node scripts/write-docs.ts`. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { toSettingsDocument } from "../src/node/cli/help.ts";
import { withSnippets } from "./clients-doc.ts";
import { findPages } from "./docs/fences.ts";
import { toEnginesDocument } from "./engines-doc.ts";
import { toFieldsDocument } from "./fields-doc.ts";
import { toGuaranteesDocument } from "./guarantees-doc.ts";
import { toRecordSchema } from "./record-schema.ts";

const ROOT = join(import.meta.dirname, "..");
const DOCUMENTS = {
  "engines.md": toEnginesDocument(),
  "fields.md": toFieldsDocument(),
  "guarantees.md": toGuaranteesDocument(),
  "settings.md": toSettingsDocument(),
  "turn-record.schema.json": toRecordSchema(),
};

for (const [name, text] of Object.entries(DOCUMENTS)) writeFileSync(join(ROOT, "docs", name), text);
// Other pages have code of clients between their own text.
for (const page of findPages(ROOT)) {
  const path = join(ROOT, page);
  writeFileSync(path, withSnippets(readFileSync(path, "utf8")));
}
