/**
 * Pins the newest releases of the clients in `proof/matrix/package.json` and its lock file, and prints which are new:
 *
 *     changed=@openai/codex@1.2.3 cline@4.5.6
 */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";

const FOLDER = import.meta.dirname;

const { dependencies } = z
  .object({ dependencies: z.record(z.string(), z.string()) })
  .parse(JSON.parse(readFileSync(join(FOLDER, "package.json"), "utf8")));

const changed = Object.entries(dependencies).flatMap(([name, pinned]) => {
  const latest = npm(["view", name, "version"]).trim();
  return latest === pinned ? [] : [`${name}@${latest}`];
});
if (changed.length > 0) {
  npm(["install", "--package-lock-only", "--ignore-scripts", "--save-exact", ...changed]);
}
console.log(`changed=${changed.join(" ")}`);

function npm(args: readonly string[]): string {
  return execFileSync("npm", ["--prefix", FOLDER, ...args], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
  });
}
