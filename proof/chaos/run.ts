/**
 * `npm run chaos -- --seed 1`: the gateway as an operator starts it, over engines that die, hang and lie, with clients
 * of every kind. Prints a table; exits with 1 when something did not hold.
 *
 * `--phase kills` runs one phase, `--minutes 10` all of them again and again with new seeds, `--soak 30` mixed traffic
 * for so long, with a look at what the process holds, `--kills 60` kills gateways over a file so often, or over the database that
 * `--store postgres://…` names.
 */
import { parseArgs } from "node:util";
import { createRandom, seedOf } from "../fuzz/random.ts";
import type { Outcome } from "./clients.ts";
import type { Phase } from "./phase.ts";
import { PHASES } from "./phases.ts";
import { soak } from "./soak.ts";
import { runStoreKill } from "./store-kill-phase.ts";

const { values } = parseArgs({
  options: {
    seed: { type: "string", default: "1" },
    minutes: { type: "string" },
    phase: { type: "string", multiple: true },
    soak: { type: "string" },
    kills: { type: "string" },
    store: { type: "string" },
  },
});

/** Several times the duration of any phase on a busy machine. A phase that exceeds it hangs, and so does the run. */
const PHASE_LIMIT_MS = 600_000;

const seed = Number(values.seed);
const isWell = await run();
// Exits explicitly, because open handles of a phase would keep the process alive.
process.exit(isWell ? 0 : 1);

async function run(): Promise<boolean> {
  if (values.soak !== undefined) return soak(Number(values.soak), seed);
  if (values.kills === undefined) return runPhases();
  const kills = Number(values.kills);
  const { violations, note } = await runStoreKill(createRandom(seed), {
    kills,
    store: values.store,
  });
  console.log([note, ...violations, `seed ${seed}, ${violations.length} violation(s)`].join("\n"));
  return violations.length === 0;
}

async function runPhases(): Promise<boolean> {
  const phases = PHASES.filter(({ name }) => values.phase?.includes(name) ?? true);
  if (phases.length === 0) {
    console.error(`No such phase. There are: ${PHASES.map(({ name }) => name).join(", ")}.`);
    return false;
  }
  const deadline = performance.now() + Number(values.minutes ?? 0) * 60_000;
  let violations = 0;
  let round = 0;
  console.log(
    "| phase | requests | complete | refused | reported | disconnected | slowest /health | longest hold | s | |",
  );
  console.log("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |");
  do {
    for (const phase of phases) violations += await runPhase(phase, seed + round);
    round++;
  } while (performance.now() < deadline);
  console.log(`\nseed ${seed}, ${round} round(s), ${violations} violation(s)`);
  return violations === 0;
}

async function runPhase(phase: Phase, phaseSeed: number): Promise<number> {
  if (phase.missing !== undefined) {
    console.log(`| ${phase.name} | | | | | | | | | skipped: ${phase.missing} |`);
    return 0;
  }
  const started = performance.now();
  const stuck = setTimeout(() => {
    console.log(`| ${phase.name} | STUCK after ${PHASE_LIMIT_MS / 1000} s`);
    process.exit(1);
  }, PHASE_LIMIT_MS);
  const random = createRandom(seedOf(phaseSeed, PHASES.indexOf(phase)));
  const {
    outcomes,
    slowestHealthMs,
    longestHoldMs,
    violations,
    note = "",
  } = await phase.run(random);
  clearTimeout(stuck);
  const count = (end: Outcome["end"]) => outcomes.filter((each) => each.end === end).length;
  const seconds = ((performance.now() - started) / 1000).toFixed(0);
  const counts = [
    outcomes.length,
    count("complete"),
    count("refused"),
    count("reported"),
    count("disconnected"),
  ];
  const verdict = violations.length === 0 ? "ok" : `${violations.length} VIOLATED`;
  const times = `${Math.round(slowestHealthMs)} ms | ${Math.round(longestHoldMs)} ms`;
  console.log(
    `| ${phase.name} | ${counts.join(" | ")} | ${times} | ${seconds} | ${verdict}${note && `; ${note}`} |`,
  );
  for (const violation of violations) console.log(`    ${phase.name}: ${violation}`);
  return violations.length;
}
