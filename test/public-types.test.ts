import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import manifest from "../package.json" with { type: "json" };
import { readPublicTypes } from "./helpers/public-types.ts";

// The types on which programs can rely. A wanted change: `npx vitest run test/public-types.test.ts -u`, and a changeset.

const ROOT = join(import.meta.dirname, "..");
const FOLDER = "public-types";

/** Declarations by the name of their entry: `index`, `harmony/index`. */
const ENTRIES = new Map(
  Object.entries(manifest.exports).flatMap(([name, target]) =>
    typeof target === "string" ? [] : [[name, target.types.replace("./dist/", "")] as const],
  ),
);

/** Types that lead into the gateway, whose inner types change with each release. */
const OPAQUE = new Set(["Model", "ModelOptions", "Models", "SettingName", "Toolbox"]);

let folder: string;
let types: ReadonlyMap<string, string>;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "harmony-gateway-types-"));
  const compiler = join(ROOT, "node_modules/typescript/bin/tsc");
  const options = ["--emitDeclarationOnly", "--outDir", folder, "--checkers", "1"];
  await promisify(execFile)(process.execPath, [compiler, "-p", "tsconfig.build.json", ...options], {
    cwd: ROOT,
  });
  types = readPublicTypes(folder, [...ENTRIES.values()], OPAQUE);
});
afterAll(() => rm(folder, { recursive: true }));

test.each([...ENTRIES])("%s exports what test/public-types has", async (name, path) => {
  const file = name === "." ? "index" : name.slice(2);
  await expect(types.get(path)).toMatchFileSnapshot(`${FOLDER}/${file}.txt`);
});
