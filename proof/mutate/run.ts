/**
 * `node proof/mutate/run.ts`: checks that the suite still detects earlier mutants. It plants the mutants of
 * `mutants.jsonl`, one at a time, and runs the tests that are nearest to each. A mutant that a test noticed when the
 * list was written has to be noticed again, and a mutant that no test noticed needs a reason.
 *
 * `--update` instead adds results to the list for mutants without one, and can be stopped at any time. `--choose 400`
 * extends the list to 400 mutants.
 */
import { globSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { z } from "zod";
import { inCheckouts, MAX_TESTS, OPTIONS, type Checkout } from "./checkout.ts";
import { readList, writeList } from "./list.ts";
import { createFinder } from "./nearest.ts";
import { applyMutant, chooseMutants, findMutants, type Mutant } from "./sites.ts";

const entrySchema = z.object({
  file: z.string(),
  line: z.string(),
  from: z.string(),
  to: z.string(),
  /** The test file that notices; `null` if none of the nearest does. */
  killedBy: z.string().nullable().optional(),
  /** The reason why no test has to notice. */
  why: z.string().optional(),
});

const LIST = "proof/mutate/mutants.jsonl";
/** Ranges of tests in one run: the nearest test kills most mutants, so it runs alone. */
const GROUPS = [
  [0, 1],
  [1, 3],
  [3, MAX_TESTS],
] as const;
/** Whether a test fails without any mutant, by its file. */
const failsUnchanged = new Map<string, boolean>();

const { values } = parseArgs({ options: OPTIONS });

if (values.choose === undefined) await run();
else extend(Number(values.choose));

/** Identifies a mutant although its file moves. */
function keyOf({ line, from, to }: Mutant): string {
  return JSON.stringify([line, from, to]);
}

function extend(count: number): void {
  const list = readList(LIST, entrySchema);
  const files = globSync("src/**/*.ts");
  const all = files.toSorted().flatMap((file) => findMutants(file, readFileSync(file, "utf8")));
  const listed = new Set(list.map(keyOf));
  const added = chooseMutants(all, count, 2).filter((mutant) => !listed.has(keyOf(mutant)));
  writeList(LIST, [...list, ...added].slice(0, count));
}

async function run(): Promise<void> {
  const list = readList(LIST, entrySchema);
  const due = list.filter(({ killedBy }) =>
    values.update ? killedBy === undefined : typeof killedBy === "string",
  );
  const nearest = createFinder();
  const sources = globSync("src/**/*.ts").map(
    (file) => [file, readFileSync(file, "utf8")] as const,
  );
  const counts = { killed: 0, survived: 0, gone: 0 };
  await inCheckouts(
    due,
    { jobs: Number(values.jobs), minutes: Number(values.minutes) },
    async (entry, checkout) => {
      entry.file = fileOf(entry, sources) ?? entry.file;
      // The known test comes first, unless the file was removed or moved.
      const known = globSync(entry.killedBy ?? []);
      const tests = [...new Set([...known, ...nearest(entry.file)])].slice(0, MAX_TESTS);
      const killedBy = await killerOf(entry, tests, checkout);
      const result = killedBy === undefined ? "gone" : killedBy === null ? "survived" : "killed";
      counts[result] += 1;
      if (values.update && killedBy !== undefined) {
        entry.killedBy = killedBy;
        writeList(LIST, list);
      }
      if (values.update || result === "survived")
        console.log(
          `${result}: ${entry.file}: ${entry.line}\n  ${entry.from} → ${entry.to}\n  ${killedBy ?? `not by ${tests.join(" ")}`}`,
        );
    },
  );
  console.log(
    `${counts.killed} killed, ${counts.survived} survived, ${counts.gone} no longer in the sources, of ${due.length}`,
  );
  const unexplained = list.filter(({ killedBy, why }) => killedBy === null && why === undefined);
  for (const { file, line } of unexplained)
    console.log(`survives without a reason: ${file}: ${line}`);
  if (!values.update && counts.survived + unexplained.length > 0) process.exitCode = 1;
}

/** The file that contains a mutant's line at present: files move. */
function fileOf(
  mutant: Mutant,
  sources: readonly (readonly [file: string, text: string])[],
): string | undefined {
  const having = sources.filter(([, text]) => applyMutant(mutant, text) !== undefined);
  const own = having.find(([file]) => file === mutant.file);
  return own?.[0] ?? (having.length === 1 ? having[0]?.[0] : undefined);
}

/** Returns the test that fails, `null` if none fails, `undefined` if the line is gone. */
async function killerOf(
  mutant: Mutant,
  tests: readonly string[],
  { folder, runTests, restore }: Checkout,
): Promise<string | null | undefined> {
  const path = join(folder, mutant.file);
  const changed = globSync(path).map((file) => applyMutant(mutant, readFileSync(file, "utf8")))[0];
  if (changed === undefined) return undefined;
  const runChanged = async (files: readonly string[]) => {
    writeFileSync(path, changed);
    const failed = await runTests(files);
    restore();
    return failed;
  };
  for (const [from, to] of GROUPS) {
    const files = tests.slice(from, to);
    if (files.length === 0) continue;
    const failed = await runChanged(files);
    if (failed === undefined) continue;
    if (failed === "no end") return failed;
    // A random input or a busy machine can fail a test once. Only a test that fails again enters the list.
    if (values.update && (await runChanged([failed])) === undefined) continue;
    // A test that also fails without the mutant proves nothing.
    if (!failsUnchanged.has(failed))
      failsUnchanged.set(failed, (await runTests([failed])) !== undefined);
    if (failsUnchanged.get(failed) === false) return failed;
    console.error(`${failed} fails as it is committed, and is left out.`);
  }
  return null;
}
