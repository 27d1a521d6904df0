/**
 * Runs third-party suites against the gateway over the demo engine, with a scripted vision model:
 *
 *     node proof/real/judges/run.ts                       # all of them; each is installed when it is missing
 *     node proof/real/judges/run.ts langchain llmprobe    # some
 *     node proof/real/judges/run.ts --write               # and record counts and versions in expected.json
 *
 * A failure that `expected.json` does not explain fails the run; so does one that it explains and that passes now, a judge that
 * checked nothing, and another number of passed checks. `docs/evidence/judges.md` is written from `expected.json`.
 */
import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { startGatewayProcess } from "../../../test/helpers/gateway-process.ts";
import { startVision } from "../../matrix/vision.ts";
import { writeFormatted, writeJson } from "../../../scripts/write-formatted.ts";
import { type Expectation, expectations, type Expectations, findSurprises } from "./expectation.ts";
import type { Check, Judge } from "./judge.ts";
import { JUDGES } from "./judges.ts";
import { toPage } from "./page.ts";

const HERE = import.meta.dirname;
const EXPECTED = "proof/real/judges/expected.json";

const { values, positionals } = parseArgs({
  options: { write: { type: "boolean", default: false } },
  allowPositionals: true,
});
const unknown = positionals.filter((name) => JUDGES.every((judge) => judge.name !== name));
if (unknown.length > 0) {
  throw new Error(
    `No such judge: ${unknown.join(", ")}. ${JUDGES.map(({ name }) => name).join(", ")}.`,
  );
}

const expected: Expectations = expectations.parse(
  JSON.parse(readFileSync(join(HERE, "expected.json"), "utf8")),
);
const vision = await startVision();
const demo = await startGatewayProcess(vision.args);
try {
  for (const judge of JUDGES) {
    if (positionals.length > 0 && !positionals.includes(judge.name)) continue;
    const checks = run(judge, demo.baseURL);
    const before = expected[judge.name];
    const after = toExpectation(judge, checks, before);
    const surprises = findSurprises(checks, values.write ? after : before);
    console.log(
      `${judge.name}: ${after.passed} passed, ${after.failed} failed, ${after.skipped} skipped`,
    );
    for (const surprise of surprises) console.log(`    ${surprise}`);
    if (surprises.length > 0) process.exitCode = 1;
    if (values.write) expected[judge.name] = after;
  }
} finally {
  await demo.stop();
  vision.close();
}
if (values.write) writeJson(EXPECTED, expected);
writeFormatted("docs/evidence/judges.md", toPage(JUDGES, expected));

/** Installs the judge unless that was done, and runs it, for half an hour at most. Its own output is shown. */
function run(judge: Judge, baseURL: string): Check[] {
  const folder = join(HERE, ".state", judge.name);
  const stamp = join(folder, ".set-up");
  const shell = (script: string) =>
    spawnSync("sh", ["-ec", script], {
      cwd: folder,
      stdio: ["ignore", "inherit", "inherit"],
      timeout: 1_800_000,
      env: { ...process.env, GATEWAY_URL: baseURL, MODEL: "openai/gpt-oss-20b" },
    }).status;
  // Another version in its commands is installed anew.
  if (!existsSync(stamp) || readFileSync(stamp, "utf8") !== judge.setUp) {
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
    if (shell(judge.setUp) !== 0) throw new Error(`${judge.name} cannot be installed.`);
    writeFileSync(stamp, judge.setUp);
  }
  for (const file of judge.files ?? []) copyFileSync(join(HERE, file), join(folder, file));
  for (const file of judge.results) rmSync(join(folder, file), { force: true });
  shell(judge.run);
  return judge.read(folder);
}

function toExpectation(
  { version }: Judge,
  checks: readonly Check[],
  before: Expectation | undefined,
): Expectation {
  const count = (outcome: Check["outcome"]) =>
    checks.filter((check) => check.outcome === outcome).length;
  return {
    version,
    date: new Date().toISOString().slice(0, 10),
    passed: count("passed"),
    failed: count("failed"),
    skipped: count("skipped"),
    failures: before?.failures ?? [],
  };
}
