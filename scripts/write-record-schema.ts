/** Writes `docs/turn-record.schema.json`: `node scripts/write-record-schema.ts`. */
import { writeFileSync } from "node:fs";
import { toRecordSchema } from "./record-schema.ts";

writeFileSync(new URL("../docs/turn-record.schema.json", import.meta.url), toRecordSchema());
