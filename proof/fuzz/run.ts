/**
 * `npm run fuzz -- --minutes 5 --seed 1`: random completions through the parser, then damaged requests through the
 * application, then random pages through the browser tool, a third of the time each. `--parser N`, `--requests N` and `--pages N`
 * run so many instead; `--at N` runs one input.
 * `--jobs 4` uses as many cores.
 */
import { parseArgs } from "node:util";
import { Worker } from "node:worker_threads";
import { createPageInput } from "./pages.ts";
import { createParserInput } from "./parser-input.ts";
import { createRandom, seedOf } from "./random.ts";
import { EPOCH, requestOf } from "./requests.ts";
import type { WorkerMessage } from "./worker.ts";

const KINDS = ["parser", "requests", "pages"] as const;
type Kind = (typeof KINDS)[number];

interface Job {
  readonly kind: Kind;
  readonly seed: number;
  readonly from: number;
  /** The number of the first input that is not run. */
  readonly count: number;
  readonly seconds: number;
}

/** Ten times the duration of any input on a busy machine. */
const STANDSTILL_MS = 30_000;
const PROGRESS_MS = 10_000;
const MOST_FAILURES = 10;
/** If only the time is limited, the parts start at numbers this far apart. */
const FAR_APART = 100_000_000;
/** A run with counts is limited in time, too. */
const LONGEST_MINUTES = 240;

const { values } = parseArgs({
  options: {
    minutes: { type: "string" },
    seed: { type: "string", default: "1" },
    parser: { type: "string" },
    requests: { type: "string" },
    pages: { type: "string" },
    at: { type: "string" },
    jobs: { type: "string", default: "1" },
  },
});

let failures = 0;
for (const job of toJobs()) {
  const parts = split(job, values.at === undefined ? Number(values.jobs) : 1);
  for (const failed of await Promise.all(parts.map(run))) failures += failed;
}
process.exitCode = failures === 0 ? 0 : 1;

function toJobs(): Job[] {
  const seed = Number(values.seed);
  const at = values.at === undefined ? undefined : Number(values.at);
  const asked = KINDS.filter((kind) => values[kind] !== undefined);
  const kinds = asked.length > 0 ? asked : KINDS;
  const minutes =
    values.minutes === undefined
      ? asked.length > 0
        ? LONGEST_MINUTES
        : 1
      : Number(values.minutes);
  return kinds.map((kind) => ({
    kind,
    seed,
    from: at ?? 0,
    count: at === undefined ? Number(values[kind] ?? Infinity) : at + 1,
    seconds: (Math.min(minutes, LONGEST_MINUTES) * 60) / kinds.length,
  }));
}

/** Parts of equal size, each with its own range of inputs; requests that share a store stay together. */
function split(job: Job, parts: number): Job[] {
  const size = Math.ceil(Math.min(job.count, FAR_APART * parts) / parts / EPOCH) * EPOCH;
  return Array.from({ length: parts }, (_, n) => {
    const from = job.from + n * size;
    const end = n === parts - 1 ? job.count : from + size;
    return { ...job, from, count: Math.min(job.count, end) };
  }).filter(({ from, count }) => from < count);
}

/** Returns the number of failures. */
async function run(job: Job): Promise<number> {
  const started = performance.now();
  const seen = { failures: 0, note: "", inputs: 0 };
  const deadline = started + job.seconds * 1000;
  let from = job.from;
  while (seen.failures < MOST_FAILURES) {
    const seconds = (deadline - performance.now()) / 1000;
    const stuckAt = await runUntilStuck({ ...job, from, seconds }, seen);
    if (stuckAt === undefined) break;
    seen.failures++;
    console.log(`HANG at input ${stuckAt}\n  ${await describe(job, stuckAt)}`);
    from = stuckAt + 1;
  }
  const seconds = Math.round((performance.now() - started) / 1000);
  console.log(`${job.kind}: ${Math.round(seen.inputs / Math.max(1, seconds))}/s. ${seen.note}`);
  // A row for proof/fuzz/README.md.
  console.log(`| ${job.kind} | ${seen.inputs} | ${job.seed} | ${seconds} s | ${seen.failures} |`);
  return seen.failures;
}

interface Seen {
  failures: number;
  note: string;
  inputs: number;
}

/** Returns the number of the input at which it hung; undefined if it ended. */
function runUntilStuck(job: Job, seen: Seen): Promise<number | undefined> {
  const progress = new SharedArrayBuffer(8);
  const position = new Float64Array(progress);
  position[0] = job.from;
  const worker = new Worker(new URL("worker.ts", import.meta.url), {
    workerData: { ...job, progress },
  });
  return new Promise((resolve, reject) => {
    let last = { at: -1, since: performance.now(), told: performance.now() };
    const finish = (stuckAt: number | undefined) => {
      clearInterval(watch);
      seen.inputs += (position[0] ?? 0) + 1 - job.from;
      void worker.terminate().then(() => resolve(stuckAt));
    };
    const watch = setInterval(() => {
      const at = position[0] ?? 0;
      const now = performance.now();
      if (at !== last.at) last = { ...last, at, since: now };
      else if (now - last.since > STANDSTILL_MS) return finish(at);
      if (now - last.told < PROGRESS_MS) return;
      last = { ...last, told: now };
      console.log(`  ${job.kind}: ${at} inputs`);
    }, 500);
    worker.on("message", (message: WorkerMessage) => {
      if (message.type === "end") {
        seen.note = message.note;
        return finish(undefined);
      }
      seen.failures++;
      console.log(`FAILURE at input ${message.index}: ${message.problem}\n  ${message.input}`);
      console.log(
        `  again: npm run fuzz -- --${job.kind} 1 --seed ${job.seed} --at ${message.index}`,
      );
      if (seen.failures >= MOST_FAILURES) finish(undefined);
    });
    worker.on("error", (error) => {
      clearInterval(watch);
      reject(error);
    });
  });
}

async function describe({ kind, seed }: Job, index: number): Promise<string> {
  return JSON.stringify(await inputOf(kind, seed, index));
}

function inputOf(kind: Kind, seed: number, index: number): unknown {
  switch (kind) {
    case "parser":
      return createParserInput(createRandom(seedOf(seed, index)));
    case "requests":
      return requestOf(seed, index);
    case "pages":
      return createPageInput(createRandom(seedOf(seed, index)));
    default:
      return kind satisfies never;
  }
}
