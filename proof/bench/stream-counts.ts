/**
 * How the cost of a token and of a stream changes with the number of open streams, each of one token a second.
 *
 *     npm run build && node proof/bench/stream-counts.ts [1000 2000 4000 8000]
 *
 * Each number is measured in a separate process. A stream takes a socket to the client and one to the engine: `ulimit
 * -n` has to allow twice the streams and some more.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { rssKib } from "./child.ts";
import { describeMachine } from "./machine.ts";
import { gateway, startContender } from "./streaming/contenders.ts";
import { Rig } from "./streaming/rig.ts";

const GATEWAY = gateway("gateway", "chat", new URL("../..", import.meta.url));
const WINDOW_MS = 10_000;
const SETTLE_MS = 3000;
/** Streams that are opened each 10 ms. */
const RAMP = 5;

const counts = process.argv.length > 2 ? process.argv.slice(2).map(Number) : [1000, 2000, 4000];
const { cpu, cores, node, commit, loadBefore } = describeMachine();
console.log(
  `${cpu}, ${cores} cores, Node ${node}, ${commit}; load before ${loadBefore.toFixed(1)}\n`,
);
console.log(
  "| streams | tokens / s | µs CPU / token | share of a core | KB / stream | latency p50, ms | p99, ms |",
);
console.log("| ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
for (const count of counts) console.log(await measure(count));

async function measure(count: number): Promise<string> {
  const rig = await Rig.start();
  const running = await startContender(GATEWAY, rig.enginePort);
  const { pid } = running;
  if (pid === undefined) throw new Error("the gateway has no process");
  try {
    await rig.script({
      mode: "paced",
      shape: "loop",
      tokens: 10_000,
      tokensPerSecond: 1,
      phase: "spread",
    });
    await sleep(1000);
    const before = rssKib(pid);
    await rig.open(running, count, { ramp: RAMP, readsWords: true });
    const window = await rig.watch(running, WINDOW_MS, SETTLE_MS);
    const kb = (rssKib(pid) - before) / count;
    const { openStreams } = await rig.stats();
    if (openStreams !== count) throw new Error(`only ${openStreams} of ${count} streams are open`);
    const cells = [
      count,
      Math.round((window.tokens / window.ms) * 1000),
      ((window.cpuMs * 1000) / window.tokens).toFixed(1),
      (window.cpuMs / window.ms).toFixed(2),
      kb.toFixed(0),
      window.latencyMs.p50.toFixed(2),
      window.latencyMs.p99.toFixed(2),
    ];
    return `| ${cells.join(" | ")} |`;
  } finally {
    await running.stop();
    await rig.stop();
  }
}
