/**
 * Records `docs/evidence/first-hour.md` and its pictures: `node scripts/record-session.ts`. Needs `script` of util-linux, git, npm, the
 * network, and for the pictures the Chromium and the packages of test/browser. With `--check` it records what is quick, and
 * compares it with the page; times may differ.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { join } from "node:path";
import { readSessionPage, toSessionPage, withoutTimes } from "./session/page.ts";
import { recordAll } from "./session/record.ts";
import { SCENARIOS } from "./session/scenarios.ts";

const ROOT = join(import.meta.dirname, "..");
const PAGE = join(ROOT, "docs/evidence/first-hour.md");

if (process.argv.includes("--check")) await check();
else await write();

async function write(): Promise<void> {
  const recordings = await recordAll(ROOT, SCENARIOS);
  const date = new Intl.DateTimeFormat("en-GB", { dateStyle: "long" }).format();
  const [load = 0] = loadavg();
  const facts = { date, node: process.version, cores: cpus().length, load };
  writeFileSync(PAGE, toSessionPage(recordings, facts));
}

async function check(): Promise<void> {
  const shown = readSessionPage(readFileSync(PAGE, "utf8"));
  const quick = SCENARIOS.filter(({ isSlow }) => isSlow !== true);
  for (const { scenario, text } of await recordAll(ROOT, quick)) {
    const expected = withoutTimes(shown.get(scenario.title) ?? "");
    const isSame = withoutTimes(text) === expected;
    console.log(`${isSame ? "same" : "DIFFERENT"}: ${scenario.title}`);
    if (isSame) continue;
    console.log(text);
    process.exitCode = 1;
  }
}
