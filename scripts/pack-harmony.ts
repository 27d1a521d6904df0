/**
 * Writes the package `gpt-oss-harmony` to `dist-harmony`: Harmony, its tokenizer and OpenChatML alone, for programs that need no gateway.
 * Its code is that of `dist`, so `npm run build` comes first; its version, licence and repository are the gateway's.
 */
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";

const ROOT = join(import.meta.dirname, "..");
const TARGET = join(ROOT, "dist-harmony");
const TEMPLATE = join(import.meta.dirname, "harmony-package");

/** Everything that the package's exports import. */
const FOLDERS = ["harmony", "json-schema", "openchatml", "tokenizer"];

const inherited = z.object({
  version: z.string(),
  license: z.string(),
  repository: z.unknown().optional(),
});

rmSync(TARGET, { recursive: true, force: true });
mkdirSync(TARGET);
for (const folder of FOLDERS) {
  cpSync(join(ROOT, "dist", folder), join(TARGET, "dist", folder), { recursive: true });
}
for (const name of ["LICENSE", "NOTICE"]) cpSync(join(ROOT, name), join(TARGET, name));
cpSync(join(TEMPLATE, "README.md"), join(TARGET, "README.md"));

const own = inherited.parse(readJson(join(ROOT, "package.json")));
const { name, ...rest } = z
  .looseObject({ name: z.string() })
  .parse(readJson(join(TEMPLATE, "package.json")));
const manifest = { name, ...own, ...rest };
writeFileSync(join(TARGET, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);

const modules = readdirSync(TARGET, { recursive: true, encoding: "utf8" }).filter(
  (path) => path.endsWith(".js") || path.endsWith(".d.ts"),
);
// The examples in comments name the package that the reader has.
for (const path of modules) {
  const code = readFileSync(join(TARGET, path), "utf8")
    .replaceAll('"harmony-gateway/harmony"', `"${name}"`)
    .replaceAll('"harmony-gateway/', `"${name}/`);
  writeFileSync(join(TARGET, path), code);
}

const outside = modules.flatMap((path) => importsOutside(path));
if (outside.length > 0)
  throw new Error(`gpt-oss-harmony cannot stand alone:\n${outside.join("\n")}`);
console.log(`${name} ${own.version} is in dist-harmony.`);

/** Imports that lead out of the package's own folders. */
function importsOutside(path: string): string[] {
  const code = readFileSync(join(TARGET, path), "utf8");
  const imports = code.matchAll(/^(?! \*)(?:.*\bfrom|import) "([^"\n]+)";$/gm);
  return Array.from(imports, ([, specifier = ""]) => specifier)
    .filter((specifier) => !isInside(specifier))
    .map((specifier) => `${path}: ${specifier}`);
}

function isInside(specifier: string): boolean {
  const folder = /^\.\.\/([^/]+)\//.exec(specifier)?.[1];
  return folder === undefined ? specifier.startsWith("./") : FOLDERS.includes(folder);
}

function readJson(path: string): unknown {
  return JSON.parse(readFileSync(path, "utf8"));
}
