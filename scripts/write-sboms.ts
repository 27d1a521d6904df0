/**
 * Writes the dependencies of each package to `sbom/<package>.cdx.json`, as CycloneDX, for the release. `npm run build`
 * and `scripts/pack-harmony.ts` come first.
 *
 * In a clone, `npm sbom --omit dev` leaves out each dependency that a development dependency has as well, such as zod.
 * The list is therefore made for the package alone, with the versions of the lock file, which the bundle contains.
 */
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as z from "zod";

const ROOT = join(import.meta.dirname, "..");
const TARGET = join(ROOT, "sbom");

const published = z.object({
  name: z.string(),
  version: z.string(),
  license: z.string(),
  description: z.string(),
  dependencies: z.record(z.string(), z.string()).optional(),
});

mkdirSync(TARGET, { recursive: true });
const scratch = mkdtempSync(join(tmpdir(), "harmony-gateway-sbom-"));
try {
  for (const folder of [ROOT, join(ROOT, "dist-harmony")]) writeSbom(folder);
} finally {
  rmSync(scratch, { recursive: true });
}

function writeSbom(folder: string): void {
  const manifest = published.parse(JSON.parse(readFileSync(join(folder, "package.json"), "utf8")));
  // npm names the component after its folder.
  const cwd = join(scratch, manifest.name);
  mkdirSync(cwd);
  writeFileSync(join(cwd, "package.json"), JSON.stringify(manifest));
  cpSync(join(ROOT, "package-lock.json"), join(cwd, "package-lock.json"));
  const options = { cwd, encoding: "utf8" } as const;
  const quiet = ["--ignore-scripts", "--no-audit", "--no-fund", "--silent"];
  execFileSync("npm", ["install", "--package-lock-only", ...quiet], options);
  const args = ["sbom", "--package-lock-only", "--sbom-format", "cyclonedx"];
  const file = join(TARGET, `${manifest.name}.cdx.json`);
  writeFileSync(file, execFileSync("npm", args, options));
  console.log(file);
}
