/**
 * What recording turns costs: CPU per token of two gateways between the same engine and the same clients, one with
 * `--inspect`, measured in turn. Nobody has the page open. `node bench/inspector.ts [rounds] [seconds]`
 */
import { fileURLToPath } from "node:url";
import { startProgram } from "./child.ts";
import { type Contender, startContender } from "./streaming/contenders.ts";
import { MODEL } from "./streaming/requests.ts";
import { Rig } from "./streaming/rig.ts";

const ROUNDS = Number(process.argv[2] ?? 7);
const SECONDS = Number(process.argv[3] ?? 5);
const STREAMS = 64;
/** As from a server that writes each token by itself. */
const SCRIPT = {
  mode: "paced",
  shape: "loop",
  tokens: 1000,
  tokensPerSecond: 50,
  phase: "spread",
} as const;

const ENTRY = fileURLToPath(new URL("../src/node.ts", import.meta.url));

function createContender(name: string, flag: string): Contender {
  return {
    name,
    wire: "chat",
    start(enginePort, ownPort) {
      const url = `http://127.0.0.1:${enginePort}`;
      const settings = ["--engine", "vllm", "--url", url, "--model", MODEL, "--log", "warn"];
      const args = [ENTRY, ...settings, "--port", String(ownPort), flag];
      return startProgram(process.execPath, args, `http://127.0.0.1:${ownPort}/ready`);
    },
  };
}

const rig = await Rig.start();
const off = await startContender(createContender("off", "--no-inspect"), rig.enginePort);
const on = await startContender(createContender("on", "--inspect"), rig.enginePort);

/** Microseconds of CPU per token. */
async function measure(running: typeof off): Promise<number> {
  await rig.script(SCRIPT);
  await rig.open(running, STREAMS);
  const window = await rig.watch(running, SECONDS * 1000, 1500);
  await rig.close();
  return (window.cpuMs * 1000) / window.tokens;
}

try {
  await measure(off);
  await measure(on);
  const differences: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    // The order changes, so that neither always has the quieter machine.
    const isOffFirst = round % 2 === 0;
    const first = await measure(isOffFirst ? off : on);
    const second = await measure(isOffFirst ? on : off);
    const [without, recorded] = isOffFirst ? [first, second] : [second, first];
    differences.push(recorded / without - 1);
    console.log(`off ${without.toFixed(1)} µs/token   on ${recorded.toFixed(1)} µs/token`);
  }
  const median = differences.toSorted((a, b) => a - b)[Math.floor(ROUNDS / 2)] ?? 0;
  console.log(`median difference ${(median * 100).toFixed(1)} %`);
} finally {
  await Promise.all([off.stop(), on.stop()]);
  await rig.stop();
}
