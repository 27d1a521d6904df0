/** Writes `docs/fields.md` from the list of fields: `node scripts/write-fields-doc.ts`. */
import { writeFileSync } from "node:fs";
import { toFieldsDocument } from "./fields-doc.ts";

writeFileSync(new URL("../docs/fields.md", import.meta.url), toFieldsDocument());
