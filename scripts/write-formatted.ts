/** Writes a file of the repository as the project formats it. */
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

const ROOT = join(import.meta.dirname, "..");

/** @param path absolute, or from the root of the repository */
export function writeFormatted(path: string, text: string): void {
  const whole = resolve(ROOT, path);
  writeFileSync(whole, text);
  execFileSync(join(ROOT, "node_modules/.bin/oxfmt"), [whole]);
}

export function writeJson(path: string, value: object): void {
  writeFormatted(path, JSON.stringify(value, null, 2));
}
