/**
 * Whether a second process on the same port is worth a second core: one process and two, in turn, at full speed.
 *
 *     npm run build && node proof/bench/two-processes.ts [--rounds 5] [--window 3000] [--streams 16] [--quota 0.5]
 *
 * The engine and the load generator need processor time too, and on two cores two processes have to share with them what
 * one need not. So there is a third row: one process, engine and load generator together on one core. Two processes on
 * two cores against that is what a machine of twice the cores gains. With `--quota`, each process of the gateway has only
 * this share of a core instead, which leaves the rest for the engine and the load generator: what a second process gains
 * where there are cores enough.
 */
import { spawnSync } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { freePort } from "../../test/helpers/listen.ts";
import { cpuMs, type Program, startProgram } from "./child.ts";
import { limitCpu } from "./cpu-quota.ts";
import { describeMachine } from "./machine.ts";
import { estimateRatio, toMeasured } from "./statistics.ts";
import { gatewayArgs, type Running } from "./streaming/contenders.ts";
import { Rig } from "./streaming/rig.ts";

const { values: given } = parseArgs({
  options: {
    rounds: { type: "string", default: "5" },
    window: { type: "string", default: "3000" },
    streams: { type: "string", default: "16" },
    quota: { type: "string" },
  },
});
const quota = given.quota === undefined ? undefined : Number(given.quota);
const SETTLE_MS = 700;
const SEALED = ["--reasoning-policy", "sealed", "--sealing-keys", "A".repeat(43)];

/** Processes that share a port. */
interface Setup {
  readonly name: string;
  readonly running: Running;
  readonly processes: readonly Program[];
  /** Where everything runs, as `taskset` takes it. */
  readonly cores: string;
}

interface Round {
  readonly tokensPerSecond: number;
  /** CPU of the gateway's processes, in µs. */
  readonly cpuPerToken: number;
  /** Cores that the gateway's processes used. */
  readonly gatewayCores: number;
  /** Cores that the engine and the load generator used. */
  readonly otherCores: number;
}

const machine = describeMachine();
const rig = await Rig.start();
const one = await startProcesses(1);
const two = await startProcesses(2);
const everywhere = `0-${machine.cores - 1}`;
const ONE_CORE = "one process, everything on one core";
const setups: readonly Setup[] = [
  { name: "one process", ...one, cores: everywhere },
  { name: "two processes", ...two, cores: everywhere },
  ...(quota === undefined ? [{ name: ONE_CORE, ...one, cores: "0" }] : []),
];
const programs = [...one.processes, ...two.processes];
const limits = quota === undefined ? [] : programs.map(({ pid }) => limitCpu(pid, quota));
const rounds = new Map(setups.map(({ name }): [string, Round[]] => [name, []]));
for (let round = 0; round < Number(given.rounds); round++) {
  for (const setup of setups) rounds.get(setup.name)?.push(await measure(setup));
}
await Promise.all(programs.map((each) => each.stop()));
for (const end of limits) end();
await rig.stop();
print();

async function startProcesses(count: number): Promise<Omit<Setup, "name" | "cores">> {
  const port = await freePort();
  const processes: Program[] = [];
  for (let each = 0; each < count; each++) {
    const own = await freePort();
    const shared = ["--port", String(port), "--reuse-port", "--metrics-port", String(own)];
    const args = gatewayArgs(new URL("../..", import.meta.url), rig.enginePort, [
      ...shared,
      ...SEALED,
    ]);
    processes.push(await startProgram(process.execPath, args, `http://127.0.0.1:${own}/ready`));
  }
  const contender = { name: `gateway-${count}`, wire: "chat" } as const;
  const target = { name: contender.name, port, headers: {} };
  const running = { contender, enginePort: rig.enginePort, target, pid: undefined };
  return { running: { ...running, stop: async () => {} }, processes };
}

async function measure({ running, processes, cores }: Setup): Promise<Round> {
  const own = processes.map(({ pid }) => pid);
  for (const pid of [...own, ...rig.pids]) pin(pid, cores);
  // Connections that were open before are closed.
  await rig.script({ mode: "bulk", shape: "loop", tokens: 20_000 });
  await rig.open(running, Number(given.streams));
  await sleep(SETTLE_MS);
  const sample = async () => ({
    ms: performance.now(),
    tokens: (await rig.stats()).tokens,
    gateway: total(own),
    others: total(rig.pids),
  });
  const before = await sample();
  await sleep(Number(given.window));
  const after = await sample();
  await rig.close();
  const ms = after.ms - before.ms;
  const tokens = after.tokens - before.tokens;
  return {
    tokensPerSecond: (tokens / ms) * 1000,
    cpuPerToken: ((after.gateway - before.gateway) / tokens) * 1000,
    gatewayCores: (after.gateway - before.gateway) / ms,
    otherCores: (after.others - before.others) / ms,
  };
}

function total(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + cpuMs(pid), 0);
}

function pin(pid: number, cores: string): void {
  const { status, stderr } = spawnSync("taskset", ["-acp", cores, String(pid)], {
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(`taskset of util-linux is needed: ${stderr}`);
}

function print(): void {
  const { cpu, cores, node, commit, loadBefore } = machine;
  console.log(
    `${cpu}, ${cores} cores, Node ${node}, ${commit}; load before ${loadBefore.toFixed(1)}`,
  );
  const each = quota === undefined ? "" : `, ${quota} of a core for each process`;
  console.log(
    `${given.streams} streams at full speed${each}, ${given.rounds} rounds in turn, medians\n`,
  );
  console.log("| | tokens / s | µs CPU / token | cores: gateway | engine and load |");
  console.log("| --- | ---: | ---: | ---: | ---: |");
  for (const { name } of setups) {
    const cells = (["tokensPerSecond", "cpuPerToken", "gatewayCores", "otherCores"] as const).map(
      (column) => {
        const { median, min, max } = toMeasured(read(name, column));
        const text = (value: number) =>
          column === "tokensPerSecond" ? Math.round(value).toLocaleString("en") : value.toFixed(2);
        return `${text(median)} (${text(min)}–${text(max)})`;
      },
    );
    console.log(`| ${name} | ${cells.join(" | ")} |`);
  }
  console.log("");
  for (const { name: other } of setups.filter(({ processes: { length } }) => length === 1)) {
    const { value, low, high } = estimateRatio(
      toMeasured(read("two processes", "tokensPerSecond")),
      toMeasured(read(other, "tokensPerSecond")),
    );
    const interval = `[${low.toFixed(2)}, ${high.toFixed(2)}]`;
    console.log(`two processes / ${other}: ${value.toFixed(2)} ${interval}`);
  }
}

function read(name: string, column: keyof Round): number[] {
  return (rounds.get(name) ?? []).map((round) => round[column]);
}
