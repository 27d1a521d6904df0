/** Writes `docs/settings.md` from the settings: `node scripts/write-settings-doc.ts`. */
import { writeFileSync } from "node:fs";
import { toSettingsDocument } from "../src/node/cli/help.ts";

writeFileSync(new URL("../docs/settings.md", import.meta.url), toSettingsDocument());
