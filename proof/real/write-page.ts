/** Writes a page of `docs/clients`, formatted. */
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

const ROOT = join(import.meta.dirname, "../..");

export function writePage(name: string, text: string): void {
  const path = join(ROOT, "docs/clients", name);
  writeFileSync(path, text);
  execFileSync(join(ROOT, "node_modules/.bin/oxfmt"), [path]);
}
