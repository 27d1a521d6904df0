/** Finds the tests that reach a file of `src`, the nearest first: by imports, by folder and by name. */
import { globSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";

/** Modules that a module loads, imported or named by a path. Imports of types are none. */
function importsOf(file: string): string[] {
  const text = readFileSync(file, "utf8").replaceAll(/^(?:im|ex)port type [^;]*;/gm, "");
  return [...text.matchAll(/["'`](\.{1,2}\/[^"'`\s]+\.ts)["'`]/g)].map((match) =>
    join(dirname(file), match[1]!),
  );
}

/** The distance of each test from each file. */
export function createFinder(): (file: string) => string[] {
  const modules = new Map(
    globSync(["src/**/*.ts", "test/**/*.ts", "proof/**/*.ts", "scripts/*.ts"], {
      exclude: ["**/node_modules/**"],
    }).map((file) => [file, importsOf(file)]),
  );
  // Tests of the docs fail with every change of documented behaviour.
  const tests = [...modules.keys()].filter(
    (file) => file.endsWith(".test.ts") && !/^test\/(docs|browser|fuzz)\//.test(file),
  );
  const distances = new Map(tests.map((test) => [test, distancesFrom(test, modules)]));
  return (file) =>
    tests
      .flatMap((test) => {
        const distance = distances.get(test)!.get(file);
        return distance === undefined ? [] : [{ test, rank: distance - likeness(file, test) }];
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

/** Tests mirror the sources: each folder they share counts as one import, the same name as three. */
function likeness(file: string, test: string): number {
  const ofFile = dirname(file).split("/").slice(1);
  const ofTest = dirname(test).split("/").slice(1);
  const differs = ofFile.findIndex((folder, at) => folder !== ofTest[at]);
  const same = basename(file, ".ts") === basename(test, ".test.ts") ? 3 : 0;
  return (differs === -1 ? ofFile.length : differs) + same;
}
