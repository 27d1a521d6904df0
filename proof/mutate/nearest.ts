/** Orders tests by their nearness to a file of `src`: by imports, by folder and name, and by words in common. */
import { globSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";

/** Maximum distance that counts: most tests reach most files through the application, and others start it as a program. */
const FAR = 4;
/** The number of imports that two texts with all words in common outweigh. */
const LIKENESS_OF_TEXTS = 15;

/** Modules that a module loads, imported or named by a path. Imports of types load nothing. */
function importsOf(file: string, text: string): string[] {
  const loading = text.replaceAll(/^(?:im|ex)port type [^;]*;/gm, "");
  return [...loading.matchAll(/["'`](\.{1,2}\/[^"'`\s]+\.ts)["'`]/g)].map((match) =>
    join(dirname(file), match[1]!),
  );
}

/** Returns a function that lists all tests for a file, the nearest first. */
export function createFinder(): (file: string) => string[] {
  const texts = new Map(
    globSync(["src/**/*.ts", "test/**/*.ts", "proof/**/*.ts", "scripts/*.ts"], {
      exclude: ["**/node_modules/**"],
    }).map((file) => [file, readFileSync(file, "utf8")]),
  );
  const modules = new Map([...texts].map(([file, text]) => [file, importsOf(file, text)]));
  const words = weighWords(texts);
  // Tests of the docs fail with every change of documented behaviour.
  const tests = [...modules.keys()].filter(
    (file) => file.endsWith(".test.ts") && !/^test\/(docs|browser|fuzz)\//.test(file),
  );
  const distances = new Map(tests.map((test) => [test, distancesFrom(test, modules)]));
  return (file) =>
    tests
      .map((test) => {
        const distance = Math.min(distances.get(test)!.get(file) ?? FAR, FAR);
        const likeness =
          likenessOfPaths(file, test) +
          LIKENESS_OF_TEXTS * likenessOfTexts(words.get(file), words.get(test));
        return { test, rank: distance - likeness };
      })
      .toSorted((a, b) => a.rank - b.rank || a.test.localeCompare(b.test))
      .map(({ test }) => test);
}

function distancesFrom(test: string, modules: Map<string, string[]>): Map<string, number> {
  const distances = new Map([[test, 0]]);
  for (const [file, distance] of distances)
    for (const next of modules.get(file) ?? [])
      if (!distances.has(next)) distances.set(next, distance + 1);
  return distances;
}

/** Tests mirror the sources: each folder that they share counts as one import, an equal name as three. */
function likenessOfPaths(file: string, test: string): number {
  const ofFile = dirname(file).split("/").slice(1);
  const ofTest = dirname(test).split("/").slice(1);
  const differs = ofFile.findIndex((folder, at) => folder !== ofTest[at]);
  const same = basename(file, ".ts") === basename(test, ".test.ts") ? 3 : 0;
  return (differs === -1 ? ofFile.length : differs) + same;
}

/** Weights of a file's words, frequent in the file and rare in others. The squares of a file's weights add up to 1. */
type Words = Map<string, number>;

function weighWords(texts: Map<string, string>): Map<string, Words> {
  const counts = [...texts].map(([file, text]) => [file, countWords(file, text)] as const);
  const files = new Map<string, number>();
  for (const [, words] of counts)
    for (const word of words.keys()) files.set(word, (files.get(word) ?? 0) + 1);
  return new Map(
    counts.map(([file, words]) => {
      const weights = [...words].map(
        ([word, count]) =>
          [word, (1 + Math.log(count)) * Math.log(counts.length / files.get(word)!)] as const,
      );
      const length = Math.hypot(...weights.map(([, weight]) => weight));
      return [file, new Map(weights.map(([word, weight]) => [word, weight / length]))];
    }),
  );
}

/** Counts the words of a path and a text, the parts of `camelCase` names one by one. The path counts twice. */
function countWords(path: string, text: string): Map<string, number> {
  const counts = new Map<string, number>();
  const withoutImports = text.replaceAll(/^import [^;]*;/gm, "");
  for (const [word] of `${path} ${path} ${withoutImports}`.matchAll(
    /[A-Z]?[a-z]{2,}|[A-Z]{2,}(?![a-z])/g,
  )) {
    const stem = word.toLowerCase().replace(/s$/, "");
    counts.set(stem, (counts.get(stem) ?? 0) + 1);
  }
  return counts;
}

/** The cosine of the angle between two texts: 0 without a word in common, 1 for equal words. */
function likenessOfTexts(one: Words = new Map(), other: Words = new Map()): number {
  return [...one].reduce((sum, [word, weight]) => sum + weight * (other.get(word) ?? 0), 0);
}
