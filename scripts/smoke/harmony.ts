/**
 * The package `gpt-oss-harmony` in each runtime: the examples of its three tasks, whose output must be that of the sources. They
 * print text alone, because runtimes print objects differently.
 */
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { transformSync } from "esbuild";

const EXAMPLES = join(import.meta.dirname, "../../examples");

export const HARMONY_FEATURES = [
  { name: "`gpt-oss-harmony` renders a conversation", example: "render" },
  { name: "`gpt-oss-harmony` parses a completion", example: "parse" },
  { name: "`gpt-oss-harmony` encodes and decodes", example: "tokenizer" },
] as const;

/** The module in a user's folder: an example that imports the package. In JavaScript, since Node 20 reads no types. */
export function toModule(example: string): string {
  return `harmony-${example}.mjs`;
}

export function writeHarmonyExamples(folder: string): void {
  for (const { example } of HARMONY_FEATURES) {
    const source = readFileSync(join(EXAMPLES, `${example}.ts`), "utf8")
      .replaceAll('"../src/harmony/index.ts"', '"gpt-oss-harmony"')
      .replaceAll(/"\.\.\/src\/(\w+)\/index\.ts"/g, '"gpt-oss-harmony/$1"');
    writeFileSync(join(folder, toModule(example)), transformSync(source, { loader: "ts" }).code);
  }
}

/** The output of an example in a clone. */
export function printedBySources(example: string): string {
  return execFileSync(process.execPath, [join(EXAMPLES, `${example}.ts`)], { encoding: "utf8" });
}

/** The source of a Worker that answers with a module's output. */
export function toPrintingWorker(module: string): string {
  return `import { printed } from "./printed.mjs";
import "./${module}";
export default { fetch: () => new Response(printed.map((line) => line + "\\n").join("")) };
`;
}

/** `printed.mjs`. A Worker imports it first, so that the module prints into it. */
export const PRINTED = `export const printed = [];
console.log = (...words) => printed.push(words.join(" "));
`;
