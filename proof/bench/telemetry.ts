/**
 * Measures the cost of observing turns: CPU per token of long streams and per short request of two gateways, one of
 * which records turns for the inspector, writes each into a file, or sends traces of all to a collector that drops
 * them. Both run over the same windows, so that a busy machine slows both equally. Each round has new processes, in the
 * other order, because the first to get requests pays for warming up.
 *
 * `node proof/bench/telemetry.ts inspect | capture | traces | nothing [rounds] [windows]`. With `nothing` both are
 * equal.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { listenAnywhere } from "../../test/helpers/listen.ts";
import { startProgram } from "./child.ts";
import { estimateMean, toMeasured } from "./statistics.ts";
import { type Contender, type Running, startContender } from "./streaming/contenders.ts";
import { MODEL } from "./streaming/requests.ts";
import { Rig } from "./streaming/rig.ts";
import { SAME_WINDOWS } from "./streaming/same-windows.ts";
import type { SameWindows } from "./streaming/scenario.ts";

const ROUNDS = Number(process.argv[3] ?? 4);
const WINDOWS = Number(process.argv[4] ?? 12);

const ENTRY = fileURLToPath(new URL("../../src/node.ts", import.meta.url));

const EFFORT = {
  windows: WINDOWS,
  sameWindowMs: 1000,
  windowMs: 1000,
  settleMs: 1500,
  asks: 0,
  warmUpRequests: 2000,
};

const MEASURED = [
  { scenario: toScenario("paced-64"), column: "cpuPerToken", unit: "µs/token" },
  { scenario: toScenario("requests"), column: "cpuPerRequest", unit: "µs/request" },
];

/** The start options of one of the two gateways. */
interface Watching {
  readonly flags: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  stop(): void;
}

async function startWatching(kind = "inspect"): Promise<Watching> {
  const nothing = { flags: ["--no-inspect"], environment: {}, stop: () => {} };
  switch (kind) {
    case "nothing":
      return nothing;
    case "inspect":
      return { ...nothing, flags: ["--inspect"] };
    case "capture": {
      const folder = mkdtempSync(join(tmpdir(), "bench-capture-"));
      return {
        ...nothing,
        flags: ["--no-inspect", "--capture", folder],
        stop: () => rmSync(folder, { recursive: true }),
      };
    }
    case "traces": {
      const collector = createServer((request, response) => {
        request.resume().on("end", () => response.end());
      });
      const port = await listenAnywhere(collector);
      return {
        ...nothing,
        environment: { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}` },
        stop: () => void collector.close(),
      };
    }
    default:
      throw new Error(`"${kind}" cannot be measured`);
  }
}

function createContender(
  name: string,
  flags: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Contender {
  return {
    name,
    wire: "chat",
    start(enginePort, ownPort) {
      const url = `http://127.0.0.1:${enginePort}`;
      const settings = ["--engine", "vllm", "--url", url, "--model", MODEL, "--log", "warn"];
      // Node's arguments equal those of `npm start`, because recording and the young generation share memory.
      const args = ["--max-semi-space-size=8", ENTRY, ...settings, "--port", String(ownPort)];
      return startProgram(
        process.execPath,
        [...args, ...flags],
        `http://127.0.0.1:${ownPort}/ready`,
        environment,
      );
    },
  };
}

/**
 * Returns the ratio of the costs with and without observation, for each measured scenario and window.
 *
 * @param isOnFirst whether the observed gateway is started and gets requests first, which costs it up to a quarter more
 */
async function runRound(watching: Watching, isOnFirst: boolean): Promise<number[][]> {
  const rig = await Rig.start();
  const both = [
    createContender("off", ["--no-inspect"]),
    createContender("on", watching.flags, watching.environment),
  ];
  const all: Running[] = [];
  try {
    for (const contender of isOnFirst ? both.toReversed() : both) {
      all.push(await startContender(contender, await rig.listen()));
    }
    const ratios: number[][] = [];
    for (const { scenario, column, unit } of MEASURED) {
      const measured = await scenario.run(rig, all, EFFORT);
      const [off = [], on = []] = (isOnFirst ? measured.toReversed() : measured).map((windows) =>
        windows.map((window) => window[column] ?? NaN),
      );
      console.log(`off ${median(off)}   on ${median(on)} ${unit}`);
      ratios.push(off.map((without, window) => (on[window] ?? NaN) / without));
    }
    return ratios;
  } finally {
    await Promise.all(all.map((running) => running.stop()));
    await rig.stop();
  }
}

const watching = await startWatching(process.argv[2]);
/** The ratio of each window, by measured scenario and round. */
const ratios: number[][][] = MEASURED.map(() => []);
try {
  for (let round = 0; round < ROUNDS; round++) {
    const measured = await runRound(watching, round % 2 === 0);
    for (const [at, ofRound] of measured.entries()) {
      ratios[at]?.push(ofRound.filter(Number.isFinite));
    }
  }
} finally {
  watching.stop();
}
for (const [at, { unit }] of MEASURED.entries()) {
  const { value, low, high } = estimateMean(ratios[at] ?? []);
  console.log(`${unit}: × ${value.toFixed(2)}, 95 % from ${low.toFixed(2)} to ${high.toFixed(2)}`);
}

function toScenario(name: string): SameWindows {
  const scenario = SAME_WINDOWS.find((each) => each.name === name);
  if (scenario === undefined) throw new Error(`there is no scenario "${name}"`);
  return scenario;
}

function median(costs: readonly number[]): string {
  return toMeasured(costs.filter(Number.isFinite)).median.toFixed(1);
}
