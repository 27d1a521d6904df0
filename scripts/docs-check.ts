/**
 * `node scripts/docs-check.ts`: runs every command of the pages and checks every other block, or prints why not. With names of pages,
 * only these.
 */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { type Fence, findPages, readFences, reasonNotToRun } from "./docs/fences.ts";
import { type Outcome, type Report, runPage } from "./docs/run-page.ts";
import { checkTypes } from "./docs/snippets.ts";

const ROOT = join(import.meta.dirname, "..");
const asked = process.argv.slice(2);
const all = findPages(ROOT);
const unknown = asked.filter((page) => !all.includes(page));
if (unknown.length > 0) throw new Error(`No such page: ${unknown.join(", ")}.`);
const pages = asked.length === 0 ? all : asked;
const fences = pages.map((page) => readFences(ROOT, page));

const typed = fences.flat().filter((fence) => fence.language === "ts");
const typesChecked = checkTypes(
  ROOT,
  typed.map((fence) => (reasonNotToRun(fence) === undefined ? fence : { ...fence, body: "" })),
);
const reports: Report[] = [];
for (const ofPage of fences) {
  const made = await runPage(ROOT, ofPage);
  made.forEach(print);
  reports.push(...made);
}
if (pages.includes("docs/evidence/first-hour.md")) {
  const report = checkSession();
  print(report);
  reports.push(report);
}
const problems = await typesChecked;
for (const [index, fence] of typed.entries()) {
  const report = toReport(fence, problems.get(index));
  print(report);
  reports.push(report);
}
const rest = problems.get(-1);
if (rest !== undefined) console.log(rest);

const count = (kind: string) => reports.filter(({ outcome }) => outcome.kind === kind).length;
console.log(`\n${count("ok")} ok, ${count("not run")} not run, ${count("wrong")} wrong`);
process.exitCode = count("wrong") > 0 || rest !== undefined || reports.length === 0 ? 1 : 0;

/** The page is recorded by a script, which can record it again. */
function checkSession(): Report {
  const where = "docs/evidence/first-hour.md:1";
  const what = "node scripts/record-session.ts --check";
  if (spawnSync("script", ["--version"]).status !== 0) {
    return { where, what, outcome: { kind: "not run", text: "needs script, of util-linux" } };
  }
  const script = join(ROOT, "scripts/record-session.ts");
  const { status, stdout } = spawnSync(process.execPath, [script, "--check"], { encoding: "utf8" });
  const isSame = status === 0;
  return {
    where,
    what,
    outcome: isSame
      ? { kind: "ok", text: "prints the same today" }
      : { kind: "wrong", text: `${stdout}\nnode scripts/record-session.ts records it again.` },
  };
}

function toReport(fence: Fence, problem: string | undefined): Report {
  const reason = reasonNotToRun(fence);
  const where = `${fence.page}:${fence.line}`;
  if (reason !== undefined)
    return { where, what: "ts", outcome: { kind: "not run", text: reason } };
  const outcome: Outcome =
    problem === undefined
      ? { kind: "ok", text: "has no type errors" }
      : { kind: "wrong", text: problem };
  return { where, what: "ts", outcome };
}

function print({ where, what, outcome }: Report): void {
  const verdict = outcome.kind === "ok" ? outcome.text : `${outcome.kind}: ${outcome.text}`;
  console.log(`${where}  ${what.slice(0, 90)}\n    ${verdict}`);
}
