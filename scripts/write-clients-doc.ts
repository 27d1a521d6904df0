/** Writes the code of clients into the pages that show it. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { withSnippets } from "./clients-doc.ts";
import { findPages } from "./docs/fences.ts";

const ROOT = join(import.meta.dirname, "..");

for (const page of findPages(ROOT)) {
  const path = join(ROOT, page);
  const text = readFileSync(path, "utf8");
  const written = withSnippets(text);
  if (written !== text) writeFileSync(path, written);
}
