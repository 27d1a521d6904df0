/** Writes `docs/engines.md` from the engines' capabilities: `node scripts/write-engines-doc.ts`. */
import { writeFileSync } from "node:fs";
import { toEnginesDocument } from "./engines-doc.ts";

writeFileSync(new URL("../docs/engines.md", import.meta.url), toEnginesDocument());
