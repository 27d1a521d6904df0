/** The README's commands work in a clone, with no other programs than the README names. */
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { readFences } from "../scripts/docs/fences.ts";
import { runPage } from "../scripts/docs/run-page.ts";

const ROOT = join(import.meta.dirname, "..");

/** `sh` runs npm's scripts; the README itself uses curl. */
const PROGRAMS = ["node", "npm", "git", "sh", "curl"];
const FOUND = PROGRAMS.map((name) => [name, findProgram(name)] as const);
const MISSING = FOUND.flatMap(([name, path]) => (path === undefined ? [name] : []));
const IS_CLONE = spawnSync("git", ["-C", ROOT, "rev-parse", "HEAD"]).status === 0;

function findProgram(name: string): string | undefined {
  if (name === "node") return process.execPath;
  // Modules of this checkout are left out: a reader does not have them yet.
  return (process.env["PATH"] ?? "")
    .split(delimiter)
    .filter((folder) => !folder.includes("node_modules"))
    .map((folder) => join(folder, name))
    .find((path) => existsSync(path));
}

describe.skipIf(MISSING.length > 0 || !IS_CLONE || process.platform === "win32")(
  "a fresh clone (skipped where git or curl is missing, or where this is no clone)",
  () => {
    test(
      "every command of the README works, from the first to the last",
      { timeout: 180_000 },
      async () => {
        const folder = mkdtempSync(join(tmpdir(), "fresh-clone-"));
        onTestFinished(() => rmSync(folder, { recursive: true }));
        const clone = join(folder, "clone");
        execFileSync("git", ["clone", "--quiet", ROOT, clone], { stdio: "ignore" });
        // The link stands in for `npm ci`, which needs the network.
        symlinkSync(join(ROOT, "node_modules"), join(clone, "node_modules"));
        const bin = join(folder, "bin");
        mkdirSync(bin);
        for (const [name, path = ""] of FOUND) symlinkSync(realpathSync(path), join(bin, name));

        const reports = await runPage(clone, readFences(clone, "README.md"), bin);
        const typed = (kind: string) =>
          reports.flatMap(({ what, outcome }) => (outcome.kind === kind ? [what] : []));
        expect(reports.filter(({ outcome }) => outcome.kind === "wrong")).toEqual([]);
        expect(typed("ok")).toEqual(
          expect.arrayContaining([
            "npm start",
            expect.stringMatching(/^curl .*chat\/completions/),
            "npm start -- connect typescript",
            "npm start -- key alice",
          ]),
        );
        expect(typed("not run")).toEqual(["npm ci --omit=dev"]);
      },
    );
  },
);
