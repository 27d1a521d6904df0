/** Creates copies of the last commit, in which tests run over changed sources. The working tree is not changed. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative, resolve } from "node:path";
import { z } from "zod";

/** Options of both commands. */
export const OPTIONS = {
  choose: { type: "string" },
  update: { type: "boolean", default: false },
  jobs: { type: "string", default: "2" },
  minutes: { type: "string", default: "60" },
} as const;
/** Maximum test files that are run for one change. */
export const MAX_TESTS = 8;

/** Maximum duration of a run: a mutant can loop for ever. */
const MAX_SECONDS = 400;

const reportSchema = z.object({
  success: z.boolean(),
  testResults: z.array(z.object({ name: z.string(), status: z.string() })),
});

export interface Checkout {
  folder: string;
  git: (...options: string[]) => string;
  /** Resolves with the first test file that fails; with `"no end"` if the run does not end, or ends without a report. */
  runTests: (files: readonly string[]) => Promise<string | undefined>;
  /** Restores the committed files. */
  restore: () => void;
}

/** Process groups of the tests that run. */
const running = new Set<number>();

function killTests(group: number): void {
  try {
    process.kill(-group, "SIGKILL");
  } catch {
    // The group has ended already.
  }
}

// An ended process removes its copies, too.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));
process.on("exit", () => running.forEach(killTests));

export function createCheckout(): Checkout {
  const folder = mkdtempSync(join(tmpdir(), "mutate-"));
  const git = (...options: string[]) =>
    spawnSync("git", ["-C", folder, ...options], { encoding: "utf8" }).stdout.trim();
  spawnSync("git", ["clone", "--quiet", "--shared", ".", folder]);
  for (const parts of ["", "test/parts/", "test/browser/"]) {
    const packages = resolve(parts, "node_modules");
    if (existsSync(packages)) symlinkSync(packages, join(folder, parts, "node_modules"));
  }
  process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
  return {
    folder,
    git,
    runTests: (files) => runTests(folder, files),
    restore: () => {
      git("reset", "--quiet", "--hard");
      git("clean", "--quiet", "-d", "--force");
    },
  };
}

async function runTests(folder: string, files: readonly string[]): Promise<string | undefined> {
  const report = join(folder, ".git/report.json");
  rmSync(report, { force: true });
  const options =
    "run --project !workerd --bail 1 --testTimeout 60000 --maxWorkers 1 --reporter json --outputFile";
  const child = spawn(
    process.execPath,
    ["node_modules/vitest/vitest.mjs", ...options.split(" "), report, ...files],
    { cwd: folder, detached: true, stdio: "ignore" },
  );
  const group = child.pid;
  if (group === undefined) throw new Error("Vitest cannot be started.");
  running.add(group);
  let late = false;
  const timer = setTimeout(() => {
    late = true;
    killTests(group);
  }, MAX_SECONDS * 1000);
  await once(child, "exit");
  clearTimeout(timer);
  running.delete(group);
  if (late || !existsSync(report)) return "no end";
  const { success, testResults } = reportSchema.parse(JSON.parse(readFileSync(report, "utf8")));
  if (success) return undefined;
  const failed = testResults.find(({ status }) => status === "failed");
  return failed === undefined ? "no end" : relative(folder, failed.name);
}

/** Runs the entries, one in each checkout at a time. */
export async function inCheckouts<Entry>(
  entries: readonly Entry[],
  { jobs, minutes }: { jobs: number; minutes: number },
  run: (entry: Entry, checkout: Checkout) => Promise<void>,
): Promise<void> {
  const end = performance.now() + minutes * 60_000;
  const rest = [...entries];
  await Promise.all(
    Array.from({ length: jobs }, async () => {
      const checkout = createCheckout();
      for (let entry = rest.shift(); entry !== undefined; entry = rest.shift()) {
        if (performance.now() > end) return;
        await run(entry, checkout);
        checkout.restore();
      }
    }),
  );
}
