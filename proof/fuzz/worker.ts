/**
 * One kind of fuzzing in a separate thread, so that the main thread can detect a hang: before each input the worker
 * writes its number to shared memory.
 */
import { parentPort, workerData } from "node:worker_threads";
import * as z from "zod";
import { hashHere } from "./hash-here.ts";
import { createPageFuzzer } from "./pages.ts";
import { fuzzParser, shrinkParserFailure } from "./parser.ts";
import { createRequestFuzzer, shrinkRequestFailure } from "./requests.ts";

const { kind, seed, from, count, seconds, progress } = z
  .object({
    kind: z.enum(["parser", "requests", "pages"]),
    seed: z.int(),
    from: z.int(),
    // Infinite for a run that only time limits, which a schema of numbers refuses.
    count: z.custom<number>((value) => typeof value === "number" && value >= 0),
    seconds: z.number(),
    progress: z.instanceof(SharedArrayBuffer),
  })
  .parse(workerData);

export type WorkerMessage =
  | {
      readonly type: "failure";
      readonly index: number;
      readonly problem: string;
      readonly input: string;
    }
  | { readonly type: "end"; readonly note: string };

const position = new Float64Array(progress);
const deadline = performance.now() + seconds * 1000;

function report(message: WorkerMessage): void {
  parentPort?.postMessage(message, []);
}

function isOver(index: number): boolean {
  return index >= count || performance.now() >= deadline;
}

async function runParser(): Promise<void> {
  for (let index = from; !isOver(index); index++) {
    position[0] = index;
    const failure = fuzzParser(seed, index);
    if (failure === undefined) continue;
    const { problem, input } = await shrinkParserFailure(failure);
    report({ type: "failure", index, problem, input: toPrintable(input) });
  }
  report({ type: "end", note: "" });
}

async function runRequests(): Promise<void> {
  hashHere();
  const strays: string[] = [];
  process.on("unhandledRejection", (error) => {
    strays.push(error instanceof Error ? (error.stack ?? error.message) : String(error));
  });
  const fuzzer = createRequestFuzzer(seed);
  for (let index = from; !isOver(index); index++) {
    position[0] = index;
    const failure = await fuzzer.run(index);
    if (strays.length > 0) {
      const problem = `unhandled rejection: ${strays.splice(0).join("\n")}`;
      report({ type: "failure", index, problem, input: "this request, or one shortly before it" });
    }
    if (failure === undefined) continue;
    const { problem, requests } = await shrinkRequestFailure(failure);
    report({ type: "failure", index, problem, input: requests.map(toPrintable).join("\n") });
  }
  const statuses = [...fuzzer.statuses].toSorted(([a], [b]) => a - b);
  const { ms, index } = fuzzer.slowest;
  report({
    type: "end",
    note:
      `answers: ${statuses.map(([status, times]) => `${times} × ${status}`).join(", ")}; ` +
      `slowest: ${Math.round(ms)} ms (input ${index})`,
  });
}

async function runPages(): Promise<void> {
  const fuzzer = await createPageFuzzer(seed);
  for (let index = from; !isOver(index); index++) {
    position[0] = index;
    const failure = await fuzzer.run(index);
    if (failure === undefined) continue;
    const { problem, input } = failure;
    report({ type: "failure", index, problem, input: toPrintable(input) });
  }
  await fuzzer.stop();
  report({ type: "end", note: "" });
}

/** Writes numbers without a JSON form, and bytes, as words. */
function toPrintable(input: unknown): string {
  return JSON.stringify(input, (_, value: unknown) => {
    if (typeof value === "number" && !Number.isFinite(value)) return String(value);
    return value instanceof Uint8Array ? `bytes ${Buffer.from(value).toString("hex")}` : value;
  });
}

const RUNS = { parser: runParser, requests: runRequests, pages: runPages };
await RUNS[kind]();
