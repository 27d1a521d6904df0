/**
 * The cost of a start, from the command to its first answer: milliseconds of CPU, wall clock and MB of memory. Several
 * entries take turns.
 *
 *     node proof/bench/start.ts [starts] [entry …]        default: 11 starts of dist/node.js
 */
import { freePort } from "../../test/helpers/listen.ts";
import { cpuMs, rssKib, startProgram } from "./child.ts";
import { toMeasured } from "./statistics.ts";

const [starts = "11", ...entries] = process.argv.slice(2);
if (entries.length === 0) entries.push("dist/node.js");

const rounds = new Map(
  entries.map((entry) => [
    entry,
    { cpu: [] as number[], wall: [] as number[], mb: [] as number[] },
  ]),
);
for (let round = -1; round < Number(starts); round++) {
  for (const [entry, measured] of rounds) {
    const port = await freePort();
    const begun = performance.now();
    const args = [entry, "--engine", "demo", "--log", "warn", "--port", String(port)];
    const program = await startProgram(process.execPath, args, `http://127.0.0.1:${port}/ready`);
    const wall = performance.now() - begun;
    const cpu = cpuMs(program.pid);
    const mb = rssKib(program.pid) / 1024;
    await program.stop();
    // The first start fills the caches.
    if (round < 0) continue;
    measured.cpu.push(cpu);
    measured.wall.push(wall);
    measured.mb.push(mb);
  }
}
for (const [entry, { cpu, wall, mb }] of rounds) {
  const show = (values: readonly number[]) => {
    const { median, min, max } = toMeasured(values);
    return `${median.toFixed(0)} (${min.toFixed(0)}–${max.toFixed(0)})`;
  };
  console.log(`${entry}: ${show(cpu)} ms of CPU, ${show(wall)} ms, ${show(mb)} MB`);
}
