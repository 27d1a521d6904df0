/**
 * Random turns in any number: `node proof/fuzz/turns/run.ts --n 100000 --seed 1 --jobs 2`.
 *
 * Every wire and every API unless `--wire` and `--api` name some, separated by commas. A failure does not end the run: each
 * rule that is broken is printed with the smallest case, and the command that runs it again.
 */
import { parseArgs } from "node:util";
import { Worker } from "node:worker_threads";
import { APIS } from "./apis.ts";
import { type Wire, WIRES } from "./case.ts";
import type { SearchPart, WorkerMessage } from "./worker.ts";

const { values } = parseArgs({
  options: {
    /** Turns for each wire and API. */
    n: { type: "string", default: "1000" },
    seed: { type: "string", default: "1" },
    wire: { type: "string" },
    api: { type: "string" },
    /** Threads. */
    jobs: { type: "string", default: "1" },
    /** Failures printed for each rule. */
    show: { type: "string", default: "1" },
    rule: { type: "string" },
  },
});

/** Turns that a thread takes at a time. */
const PART = 2000;
const PROGRESS_MS = 30_000;

/** The search with one wire and one API. */
interface Search {
  readonly wire: Wire;
  readonly api: string;
  /** Time of the first turn. */
  begun: number | undefined;
  turns: number;
  readonly broken: Map<string, number>;
}

const count = Number(values.n);
const firstSeed = Number(values.seed);
const shown = Number(values.show);
const searches = chosen(WIRES, values.wire).flatMap((wire) =>
  chosen(Object.keys(APIS), values.api).map((api): Search => ({
    wire,
    api,
    begun: undefined,
    turns: 0,
    broken: new Map(),
  })),
);
const parts = searches.flatMap(toParts);
const begun = performance.now();

const progress = setInterval(() => {
  for (const search of searches) {
    const isRunning = search.begun !== undefined && search.turns < count;
    if (isRunning) console.log(`  ${describe(search)}`);
  }
}, PROGRESS_MS);
await Promise.all(Array.from({ length: Math.max(1, Number(values.jobs)) }, work));
clearInterval(progress);
const turns = searches.reduce((sum, search) => sum + search.turns, 0);
const failures = searches.reduce((sum, search) => sum + failuresOf(search), 0);
const seconds = Math.round((performance.now() - begun) / 1000);
console.log(`${turns} turns, ${failures} failures, ${seconds} s`);
process.exitCode = failures > 0 || turns < count * searches.length ? 1 : 0;

function chosen<T extends string>(all: readonly T[], names: string | undefined): readonly T[] {
  if (names === undefined) return all;
  return names.split(",").map((name) => {
    const found = all.find((each) => each === name);
    if (found === undefined) throw new Error(`${name} is none of ${all.join(", ")}`);
    return found;
  });
}

function toParts(search: Search): { readonly search: Search; readonly part: SearchPart }[] {
  const { wire, api } = search;
  return Array.from({ length: Math.ceil(count / PART) }, (_, n) => ({
    search,
    part: {
      wire,
      api,
      seed: firstSeed + n * PART,
      count: Math.min(PART, count - n * PART),
      ...(values.rule !== undefined && { rule: values.rule }),
    },
  }));
}

/** Runs parts in a thread until none is left. */
async function work(): Promise<void> {
  const worker = new Worker(new URL("worker.ts", import.meta.url));
  try {
    for (let next = parts.shift(); next !== undefined; next = parts.shift()) {
      const { search, part } = next;
      search.begun ??= performance.now();
      await runPart(worker, search, part);
      if (search.turns === count) console.log(describe(search));
    }
  } finally {
    await worker.terminate();
  }
}

function runPart(worker: Worker, search: Search, part: SearchPart): Promise<void> {
  return new Promise((resolve, reject) => {
    const finish = (settle: () => void): void => {
      worker.off("message", take);
      worker.off("error", fail);
      settle();
    };
    const fail = (error: Error): void => finish(() => reject(error));
    const take = (message: WorkerMessage): void => {
      switch (message.type) {
        case "failure": {
          const seen = search.broken.get(message.rule) ?? 0;
          search.broken.set(message.rule, seen + 1);
          // The thread has shrunk the first of each part.
          if (seen < shown && message.text !== undefined) console.log(message.text);
          return;
        }
        case "progress":
          search.turns += message.turns;
          return;
        case "end":
          return finish(resolve);
        default:
          return message satisfies never;
      }
    };
    worker.on("message", take);
    worker.on("error", fail);
    const known = [...search.broken].filter(([, times]) => times >= shown).map(([rule]) => rule);
    worker.postMessage({ ...part, known }, []);
  });
}

function failuresOf({ broken }: Search): number {
  return [...broken.values()].reduce((sum, times) => sum + times, 0);
}

function describe(search: Search): string {
  const { wire, api, turns: done, begun: from = 0, broken } = search;
  const perSecond = Math.round(done / ((performance.now() - from) / 1000));
  const rules = [...broken].map(([rule, times]) => `${rule} ${times}`).join(", ");
  return (
    `${wire} ${api}: ${done} of ${count} turns, ${failuresOf(search)} failures, ${perSecond} a second` +
    (rules === "" ? "" : ` (${rules})`)
  );
}
