/** Searches combinations of form and API, in a separate thread, controlled by `run.ts`. */
import { parentPort } from "node:worker_threads";
import { hashHere } from "../hash-here.ts";
import { shrink } from "../shrink.ts";
import type { Case, Wire } from "./case.ts";
import type { Violation } from "./check.ts";
import { generateCase } from "./generate.ts";
import { runCase } from "./search.ts";
import { smallerCases } from "./smaller-cases.ts";

export interface SearchPart {
  readonly wire: Wire;
  readonly api: string;
  readonly seed: number;
  readonly count: number;
  /** The only rule to look for. */
  readonly rule?: string;
}

/** `known`: rules of which enough failures have been printed. */
export type WorkerRequest = SearchPart & { readonly known: readonly string[] };

export type WorkerMessage =
  /** `text`: absent where no smaller case was searched for. */
  | { readonly type: "failure"; readonly rule: string; readonly text?: string }
  | { readonly type: "progress"; readonly turns: number }
  | { readonly type: "end" };

/** Turns between two messages. */
const PROGRESS_TURNS = 100;

hashHere();
parentPort?.on("message", (request: WorkerRequest) => {
  // An exception here ends the thread, and with it the run.
  void search(request);
});

async function search({ wire, api, seed, count, rule, known }: WorkerRequest): Promise<void> {
  const printed = new Set(known);
  let turns = 0;
  for (let at = 0; at < count; at++) {
    const given = generateCase(seed + at, wire, api);
    const broken = new Set((await runCase(given)).map((violation) => violation.rule));
    for (const each of broken) {
      if (rule !== undefined && rule !== each) continue;
      const text = printed.has(each) ? undefined : await describeFailure(given, each);
      printed.add(each);
      send({ type: "failure", rule: each, ...(text !== undefined && { text }) });
    }
    if (++turns < PROGRESS_TURNS && at + 1 < count) continue;
    send({ type: "progress", turns });
    turns = 0;
  }
  send({ type: "end" });
}

function send(message: WorkerMessage): void {
  parentPort?.postMessage(message, []);
}

async function describeFailure(given: Case, rule: string): Promise<string> {
  const broken = async (candidate: Case): Promise<Violation | undefined> =>
    (await runCase(candidate)).find((violation) => violation.rule === rule);
  const smallest = await shrink(
    given,
    smallerCases,
    async (candidate) => (await broken(candidate)) !== undefined,
  );
  const violation = await broken(smallest);
  const { seed, wire, api } = given;
  return (
    `\n${rule}: ${violation?.detail ?? "not seen again"}\n${toText(smallest)}\n` +
    `again: node proof/fuzz/turns/run.ts --n 1 --seed ${seed} --wire ${wire} --api ${api} --rule ${rule}\n`
  );
}

/** The differences between a case and the simplest one. */
function toText({ engine, settings, demands, history, choices }: Case): string {
  return JSON.stringify({ engine, settings, demands, history, choices }, undefined, 1);
}
