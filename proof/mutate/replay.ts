/**
 * `node proof/mutate/replay.ts`: checks that the suite still detects defects that the project had. The program reverts
 * the part below `src/` of each commit of `defects.jsonl`, and runs the tests nearest to the changes of the commit. A
 * defect that a test detected when the list was written must be detected again. A commit that can no longer be reverted
 * is counted, and proves nothing.
 *
 * `--update` instead adds results for commits without one, and can be stopped at any time. `--choose 1200` writes a new
 * list: the revertible ones of the last 1200 commits that changed tests with the sources. Commits that fix nothing must
 * be removed manually.
 */
import { parseArgs } from "node:util";
import { z } from "zod";
import { createCheckout, inCheckouts, MAX_TESTS, OPTIONS, type Checkout } from "./checkout.ts";
import { readList, writeList } from "./list.ts";
import { createFinder } from "./nearest.ts";

const entrySchema = z.object({
  commit: z.string(),
  subject: z.string(),
  /** The test file that notices; `null` if none of the nearest does. */
  caughtBy: z.string().nullable().optional(),
});

const LIST = "proof/mutate/defects.jsonl";
const MAX_FILES = 8;

const { values } = parseArgs({ options: OPTIONS });

if (values.choose === undefined) await run();
else choose(Number(values.choose));

function choose(count: number): void {
  const checkout = createCheckout();
  const commits = checkout.git("log", "--no-merges", "--format=%h %s", `-${count}`, "--", "src");
  const list: z.infer<typeof entrySchema>[] = [];
  for (const line of commits.split("\n")) {
    const commit = line.slice(0, line.indexOf(" "));
    const { sources, tests } = changesOf(commit, checkout);
    if (tests.length === 0 || sources.length > MAX_FILES) continue;
    if (takeBack(commit, checkout)) list.push({ commit, subject: line.slice(commit.length + 1) });
    checkout.restore();
  }
  writeList(LIST, list);
}

async function run(): Promise<void> {
  const list = readList(LIST, entrySchema);
  const due = list.filter(({ caughtBy }) =>
    values.update ? caughtBy === undefined : typeof caughtBy === "string",
  );
  const nearest = createFinder();
  const counts = { caught: 0, missed: 0, gone: 0 };
  await inCheckouts(
    due,
    { jobs: Number(values.jobs), minutes: Number(values.minutes) },
    async (entry, checkout) => {
      if (!takeBack(entry.commit, checkout)) {
        counts.gone += 1;
        return;
      }
      const { sources, tests } = changesOf(entry.commit, checkout);
      const near = sources.map((file) => nearest(file));
      const inTurn = Array.from({ length: MAX_TESTS }, (_, at) => near.map((files) => files[at]));
      const known = [entry.caughtBy ?? undefined, ...tests, ...inTurn.flat()];
      const present = new Set(checkout.git("ls-files", "test", "proof").split("\n"));
      const files = [...new Set(known)].filter((file) => file !== undefined);
      const tried = files.filter((file) => present.has(file)).slice(0, MAX_TESTS);
      const failed = (await checkout.runTests(tried)) ?? null;
      counts[failed === null ? "missed" : "caught"] += 1;
      if (values.update) {
        entry.caughtBy = failed;
        writeList(LIST, list);
      }
      if (values.update || failed === null)
        console.log(`${failed ?? "missed"}: ${entry.commit} ${entry.subject}`);
    },
  );
  console.log(
    `${counts.caught} caught, ${counts.missed} missed, ${counts.gone} cannot be taken back, of ${due.length}`,
  );
  if (!values.update && counts.missed > 0) process.exitCode = 1;
}

function changesOf(commit: string, { git }: Checkout): { sources: string[]; tests: string[] } {
  const files = git("show", "--format=", "--name-only", commit, "--", "src", "test").split("\n");
  return {
    sources: files.filter((file) => file.startsWith("src/")),
    tests: files.filter((file) => file.endsWith(".test.ts")),
  };
}

/** `revert` follows files that have moved since. Only sources are kept of it, and only without conflicts. */
function takeBack(commit: string, { git }: Checkout): boolean {
  git("-c", "merge.renameLimit=5000", "revert", "--no-commit", commit);
  if (git("diff", "--name-only", "--diff-filter=U", "--", "src") !== "") return false;
  git("reset", "--quiet");
  git("checkout", "--quiet", "HEAD", "--", ".", ":!src");
  return git("status", "--porcelain", "--", "src") !== "";
}
