/** Writes `docs/guarantees.md` from the engines' capabilities: `node scripts/write-guarantees-doc.ts`. */
import { writeFileSync } from "node:fs";
import { toGuaranteesDocument } from "./guarantees-doc.ts";

writeFileSync(new URL("../docs/guarantees.md", import.meta.url), toGuaranteesDocument());
