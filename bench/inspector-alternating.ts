/**
 * What recording adds to a token's CPU, measured in one process. It holds two gateways, one with `--inspect`, and 64 streams
 * through each. The engine goes on with the streams of one and then of the other, three times a second, in an order that
 * changes; CPU and tokens are counted while all are paused. So both run on the same compiled code, the same heap and the same
 * machine, where the two processes of `telemetry.ts` differ from each other by more than what recording costs.
 *
 * For the same reasons it cannot see what a process saves that never records: code that is compiled for both kinds of turns,
 * and a heap without records. It measures tokens only, not how a recorded turn begins and ends. One process still differs from
 * the next by a few percent, as its objects lie differently in memory, so that a few processes say more than many windows.
 *
 * The first result is of the windows' medians, the second of their means. Medians leave out what happens in few windows: what
 * disturbs the machine, but also a large garbage collection, and that records are told of many tokens at once.
 *
 * `node bench/inspector-alternating.ts [processes] [pairs of windows] [streams] [chat | responses | messages]`. With
 * `BENCH_SAME=1` neither gateway records: the result must then be 0, within its interval.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { startHelper } from "./child.ts";
import { type Estimate, estimateMean, toMeasured } from "./statistics.ts";
import type { Running } from "./streaming/contenders.ts";
import type { Wire } from "./streaming/requests.ts";
import { Rig } from "./streaming/rig.ts";

const PROCESSES = Number(process.argv[2] ?? 4);
const PAIRS = Number(process.argv[3] ?? 60);

const OFF = "--no-inspect";
const ON = process.env["BENCH_SAME"] === "1" ? OFF : "--inspect";
/** For instance `--cpu-prof --cpu-prof-dir=bench/results`, to profile it. */
const NODE_FLAGS = process.env["BENCH_NODE_FLAGS"]?.split(" ") ?? [];
const STREAMS = Number(process.argv[4] ?? 64);
const WIRE = toWire(process.argv[5] ?? "chat");
/** With 64 streams more than the 50 of `telemetry.ts`, for more tokens in the same time. With few, several come in one read. */
const TOKENS_PER_SECOND = 9600 / STREAMS;
/** More than a process needs, at this rate, for some hundred pairs of windows. */
const LONGEST_SECONDS = 130;
const WINDOW_MS = 300;
/** Until what was sent has been passed on. */
const DRAIN_MS = 20;
/** While code is compiled and streams grow their first buffers. After 5 s, the code of recording is not the final one yet. */
const SETTLE_MS = 15_000;

/** CPU per token with recording divided by that without. */
interface Ratios {
  /** Of each pair of windows. */
  readonly ofPairs: readonly number[];
  /** Of the means of all windows. */
  readonly ofMeans: number;
}

async function measureProcess(isOnFirst: boolean): Promise<Ratios> {
  const flags = isOnFirst ? [ON, OFF] : [OFF, ON];
  const rig = await Rig.start();
  const enginePorts = [await rig.listen(), await rig.listen()];
  const gateways = await startHelper(new URL("./inspector-gateways.ts", import.meta.url), {
    args: enginePorts.map((port, at) => `${port}:${flags[at]}`),
    // As `npm start` starts Node: recording and the young generation share the same memory.
    nodeFlags: ["--max-semi-space-size=8", ...NODE_FLAGS],
    greets: true,
  });
  const all = enginePorts.map((enginePort, at): Running => ({
    contender: { name: `gateway ${at}`, wire: WIRE },
    target: { port: gateways.greeting[at], headers: {} },
    enginePort,
    pid: gateways.pid,
    stop: () => gateways.stop(),
  }));
  const [on, off] = isOnFirst ? all : all.toReversed();
  try {
    if (on === undefined || off === undefined) throw new Error("two gateways are needed");
    const script = { mode: "paced", shape: "loop", phase: "step" } as const;
    await rig.script({
      ...script,
      tokens: TOKENS_PER_SECOND * LONGEST_SECONDS,
      tokensPerSecond: TOKENS_PER_SECOND,
    });
    for (const running of all) await rig.open(running, STREAMS);
    await sleep(SETTLE_MS);
    await pauseAll(rig);
    const costs = { on: [] as number[], off: [] as number[] };
    for (let pair = 0; pair < PAIRS; pair++) {
      // On, off, off, on: what changes steadily affects both alike.
      const isEven = pair % 2 === 0;
      if (isEven) costs.on.push(await measureWindow(rig, on));
      costs.off.push(await measureWindow(rig, off));
      if (!isEven) costs.on.push(await measureWindow(rig, on));
    }
    const [recorded, without] = [toMeasured(costs.on).median, toMeasured(costs.off).median];
    console.log(`off ${without.toFixed(1)} µs/token   on ${recorded.toFixed(1)} µs/token`);
    const ratios = costs.on.map((cost, pair) => cost / (costs.off[pair] ?? NaN));
    return { ofPairs: ratios.filter(Number.isFinite), ofMeans: mean(costs.on) / mean(costs.off) };
  } finally {
    await gateways.stop();
    await rig.stop();
  }
}

/** Microseconds of CPU per token while only the streams through this gateway go on. */
async function measureWindow(rig: Rig, running: Running): Promise<number> {
  const [before] = await rig.snapshot([running]);
  await rig.resumeOnly([running.enginePort]);
  await sleep(WINDOW_MS);
  await pauseAll(rig);
  const [after] = await rig.snapshot([running]);
  if (before === undefined || after === undefined) return NaN;
  return ((after.cpuMs - before.cpuMs) / (after.tokens - before.tokens)) * 1000;
}

async function pauseAll(rig: Rig): Promise<void> {
  await rig.resumeOnly([]);
  await sleep(DRAIN_MS);
}

const pairs: (readonly number[])[] = [];
const means: number[][] = [];
for (let round = 0; round < PROCESSES; round++) {
  // Each is the first gateway of every other process: where its objects are in memory depends on that.
  const { ofPairs, ofMeans } = await measureProcess(round % 2 === 0);
  pairs.push(ofPairs);
  means.push([ofMeans]);
  console.log(`${percent(toMeasured(ofPairs).median)} more, of means ${percent(ofMeans)}`);
}
console.log(`${describe(estimateMean(pairs))}, of means ${describe(estimateMean(means))}`);

function describe({ value, low, high }: Estimate): string {
  return `${percent(value)} more, with 95 % confidence from ${percent(low)} to ${percent(high)}`;
}

function mean(costs: readonly number[]): number {
  const finite = costs.filter(Number.isFinite);
  return finite.reduce((sum, cost) => sum + cost, 0) / finite.length;
}

function toWire(name: string): Wire {
  if (name === "chat" || name === "responses" || name === "messages") return name;
  throw new Error(`there is no API "${name}"`);
}

function percent(ratio: number): string {
  return `${((ratio - 1) * 100).toFixed(1)} %`;
}
