/**
 * Mixed traffic for a long time, with occasional faults. At intervals all traffic stops and the process is measured:
 * heap, sockets, timers, slots. They must not grow.
 */
import { setTimeout as pause } from "node:timers/promises";
import { createRandom, type Random } from "../fuzz/random.ts";
import { AGENT_KINDS } from "./agents.ts";
import { FAULTS } from "./engine.ts";
import { anyKind, expectHealed, expectQuiet, onStage, type Stage } from "./phase.ts";
import type { Sample } from "./sample.ts";

interface Row {
  readonly minute: number;
  readonly sample: Sample;
  readonly requests: number;
}

/** Samples for the slope; the first ones are excluded because caches are still filling. */
const SAMPLES = 15;
const WARM_UP_SAMPLES = 5;
const CLIENTS = 24;

/** Growth over the whole run that is tolerated: compiled code, and the stored entries of the moment. */
const HEAP_SLACK_BYTES = 1_500_000;
const RESOURCE_SLACK = 8;

/** True if nothing grew and every invariant held. */
export async function soak(minutes: number, seed: number): Promise<boolean> {
  const random = createRandom(seed);
  const rows: Row[] = [];
  const settings = {
    // The store is full within the first samples, so that stored entries do not look like a leak.
    storeMaxEntries: 300,
    storeMaxBytes: 3_000_000,
    storeTtlSeconds: 60,
    idleTimeoutMs: 1_000,
    firstTokenTimeoutMs: 1_500,
  };
  console.log("| minute | requests | heap MB | external MB | resources |");
  console.log("| ---: | ---: | ---: | ---: | --- |");
  const { outcomes, violations, slowestHealthMs } = await onStage(
    { engines: 3, maxConcurrent: 16, settings },
    async (stage) => {
      const started = performance.now();
      const sliceMs = (minutes * 60_000) / SAMPLES;
      let requests = 0;
      for (let n = 1; n <= SAMPLES; n++) {
        requests += await traffic(stage, random, started + n * sliceMs);
        for (const engine of stage.engines) engine.fault = "none";
        await expectQuiet(stage);
        await expectHealed(stage);
        await replaceRemembered(stage);
        // Kept-alive connections of clients and engines close in this time.
        await pause(2_000);
        const sample = await stage.gateway.sample();
        const row = { minute: (performance.now() - started) / 60_000, sample, requests };
        rows.push(row);
        print(row);
      }
      return undefined;
    },
  );
  violations.forEach((violation) => console.log(`    ${violation}`));
  const growth = findGrowth(rows);
  growth.forEach((each) => console.log(`    ${each}`));
  const settled = rows.slice(WARM_UP_SAMPLES);
  const heapSlope = slope(settled.map(({ minute, sample }) => [minute, sample.heapBytes]));
  console.log(
    `\nsoak: ${minutes} min, seed ${seed}, ${outcomes.length} requests, heap slope ` +
      `${(heapSlope / 1000).toFixed(1)} KB a minute, slowest /health ${Math.round(slowestHealthMs)} ms, ` +
      `${violations.length + growth.length} violation(s)`,
  );
  return violations.length + growth.length === 0;
}

/** Just below the largest entry of the text cache: half of its bytes, of which a character of tools counts eight. */
const REMEMBERED_LENGTH = 2_097_000;

/**
 * The memory of texts is bounded, but takes an hour of this traffic to fill. With two texts that take all of its room it
 * holds the same at every sample. (They are read, remembered, and then refused as longer than the context.)
 */
async function replaceRemembered(stage: Stage): Promise<void> {
  for (let times = 0; times < 2; times++) {
    const { origin, key, number } = stage.next("a");
    const description = `${number} `.padEnd(REMEMBERED_LENGTH, "a ");
    const response = await fetch(`${origin}/v1/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${key}` },
      body: JSON.stringify({
        messages: [{ role: "user", content: "" }],
        tools: [{ type: "function", function: { name: "f", description } }],
      }),
    });
    if (response.status !== 400) throw new Error(`${response.status} ${await response.text()}`);
    await response.body?.cancel();
  }
}

/** Runs clients of all kinds until a moment, with a new fault every second. Returns the number of requests. */
async function traffic(stage: Stage, random: Random, until: number): Promise<number> {
  let requests = 0;
  const isOver = () => performance.now() >= until;
  const client = async () => {
    while (!isOver()) {
      requests++;
      const kind = random.oneIn(3) ? random.pick(AGENT_KINDS) : anyKind(random);
      await stage.ask(kind, random.pick(["a", "b", "c"] as const));
      await pause(random.below(100));
    }
  };
  const mischief = async () => {
    while (!isOver()) {
      const engine = random.pick(stage.engines);
      if (random.oneIn(8)) {
        await engine.kill();
        await pause(500);
        await engine.revive();
      }
      // Half of the time no engine has a fault.
      engine.fault = random.oneIn(2) ? "none" : random.pick(FAULTS);
      await pause(1_000);
    }
  };
  await Promise.all([mischief(), ...Array.from({ length: CLIENTS }, client)]);
  return requests;
}

function print({ minute, sample, requests }: Row): void {
  const megabytes = (bytes: number) => (bytes / 1e6).toFixed(2);
  const resources = Object.entries(sample.resources)
    .map(([kind, times]) => `${kind} ${times}`)
    .join(", ");
  console.log(
    `| ${minute.toFixed(1)} | ${requests} | ${megabytes(sample.heapBytes)} | ${megabytes(sample.externalBytes)} | ${resources} |`,
  );
}

/** Compares the last third with the first samples after the warm-up. */
function findGrowth(rows: readonly Row[]): string[] {
  const settled = rows.slice(WARM_UP_SAMPLES);
  const third = Math.floor(settled.length / 3);
  const [early, late] = [settled.slice(0, third), settled.slice(-third)];
  const growth: string[] = [];
  const heap =
    median(late.map(({ sample }) => sample.heapBytes)) -
    median(early.map(({ sample }) => sample.heapBytes));
  if (heap > HEAP_SLACK_BYTES) growth.push(`the heap grew by ${(heap / 1e6).toFixed(1)} MB`);
  const kinds = new Set(rows.flatMap(({ sample }) => Object.keys(sample.resources)));
  for (const kind of kinds) {
    const count = (row: Row) => row.sample.resources[kind] ?? 0;
    const more = median(late.map(count)) - median(early.map(count));
    if (more > RESOURCE_SLACK) growth.push(`${more} more of ${kind}`);
  }
  return growth;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

/** Least squares: y for each x. */
function slope(points: readonly (readonly [number, number])[]): number {
  const mean = (pick: (point: readonly [number, number]) => number) =>
    points.reduce((sum, point) => sum + pick(point), 0) / points.length;
  const meanX = mean(([x]) => x);
  const meanY = mean(([, y]) => y);
  const above = points.reduce((sum, [x, y]) => sum + (x - meanX) * (y - meanY), 0);
  const below = points.reduce((sum, [x]) => sum + (x - meanX) ** 2, 0);
  return below === 0 ? 0 : above / below;
}
