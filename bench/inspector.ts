/**
 * What recording turns costs: CPU per token of two gateways, one with `--inspect`, measured in the same windows, so that a
 * busy machine slows both alike. Processes are started anew each round, because each is compiled and laid out in memory a
 * little differently. Nobody has the page open. `node bench/inspector.ts [rounds] [windows]`
 */
import { fileURLToPath } from "node:url";
import { startProgram } from "./child.ts";
import { estimateMean, toMeasured } from "./statistics.ts";
import { type Contender, type Running, startContender } from "./streaming/contenders.ts";
import { MODEL } from "./streaming/requests.ts";
import { Rig } from "./streaming/rig.ts";
import { SAME_WINDOWS } from "./streaming/same-windows.ts";

const ROUNDS = Number(process.argv[2] ?? 4);
const WINDOWS = Number(process.argv[3] ?? 12);

const ENTRY = fileURLToPath(new URL("../src/node.ts", import.meta.url));

function createContender(name: string, flag: string): Contender {
  return {
    name,
    wire: "chat",
    start(enginePort, ownPort) {
      const url = `http://127.0.0.1:${enginePort}`;
      const settings = ["--engine", "vllm", "--url", url, "--model", MODEL, "--log", "warn"];
      // As `npm start` starts Node: recording and the young generation share the same memory.
      const args = ["--max-semi-space-size=8", ENTRY, ...settings, "--port", String(ownPort), flag];
      return startProgram(process.execPath, args, `http://127.0.0.1:${ownPort}/ready`);
    },
  };
}

/** For each window, CPU per token without recording and with it, in microseconds. */
async function runRound(): Promise<[number, number][]> {
  const scenario = SAME_WINDOWS.find(({ name }) => name === "paced-64");
  if (scenario === undefined) throw new Error("there is no such scenario");
  const rig = await Rig.start();
  const all: Running[] = [];
  try {
    all.push(await startContender(createContender("off", "--no-inspect"), await rig.listen()));
    all.push(await startContender(createContender("on", "--inspect"), await rig.listen()));
    const [off = [], on = []] = await scenario.run(rig, all, {
      windows: WINDOWS,
      sameWindowMs: 1000,
      windowMs: 1000,
      settleMs: 1500,
      asks: 0,
      warmUpRequests: 0,
    });
    return off.map((each, window) => [costOf(each), costOf(on[window])]);
  } finally {
    await Promise.all(all.map((running) => running.stop()));
    await rig.stop();
  }
}

function costOf(numbers: Readonly<Record<string, number | undefined>> | undefined): number {
  return numbers?.["cpuPerToken"] ?? NaN;
}

/** Of each round, the ratio of each window. */
const ratios: number[][] = [];
for (let round = 0; round < ROUNDS; round++) {
  const windows = await runRound();
  ratios.push(windows.map(([off, on]) => on / off).filter(Number.isFinite));
  const off = toMeasured(windows.map(([without]) => without)).median;
  const on = toMeasured(windows.map(([, recorded]) => recorded)).median;
  console.log(`off ${off.toFixed(1)} µs/token   on ${on.toFixed(1)} µs/token`);
}
const { value, low, high } = estimateMean(ratios);
console.log(
  `${percent(value)} more, with 95 % confidence from ${percent(low)} to ${percent(high)}`,
);

function percent(ratio: number): string {
  return `${((ratio - 1) * 100).toFixed(1)} %`;
}
