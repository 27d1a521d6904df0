/** MCP servers that are programs: they flood, fork, hang and do not read, while other clients are served. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { Random } from "../fuzz/random.ts";
import { isRunning, programArguments } from "../../test/helpers/mcp-program.ts";
import { MODEL } from "./asking.ts";
import { anyKind, expectQuiet, notWhole, onStage, type Phase, type Stage, tell } from "./phase.ts";

export const programsPhase: Phase = {
  name: "programs",
  says: "MCP servers over stdio that flood and fork hurt nobody, and nothing of them is left",
  run: (random) => runPrograms(random, { programs: PROGRAMS.length, clients: 60 }),
};

/** The behaviour of each program in addition to answering, in the terms of `test/helpers/mcp-program.ts`. */
const PROGRAMS = [
  `flood("\\n");`,
  `flood("x\\n");`,
  `flood("x".repeat(65536));`,
  `flood(JSON.stringify({ jsonrpc: "2.0", id: "p", method: "ping" }) + "\\n");`,
  `flood(JSON.stringify({ jsonrpc: "2.0", id: 7, result: {} }) + "\\n");`,
  `flood(JSON.stringify({ jsonrpc: "2.0", method: "notifications/tools/list_changed" }) + "\\n");`,
  `process.stdin.pause();`,
  `on.list = () => undefined;`,
  `on.list = (id) => answer(id, { tools: [...Array(1000).fill(tool), ...Array(90000).fill(1)] });`,
  `let page = 0; on.list = (id) => answer(id, { tools: [tool], nextCursor: String(++page) });`,
  `setTimeout(() => process.exit(1), 50);`,
];

interface Size {
  readonly programs: number;
  readonly clients: number;
}

export async function runPrograms(random: Random, { programs, clients }: Size) {
  const folder = mkdtempSync(join(tmpdir(), "gateway-programs-"));
  const started = join(folder, "started");
  const chosen = PROGRAMS.toSorted(() => random.next() - 0.5).slice(0, programs);
  try {
    return await onStage(
      { engines: 1, settings: { mcpServers: toServers(chosen, started), mcpTimeoutMs: 3_000 } },
      async (stage) => {
        const asked = chosen.map((_, index) => askForTools(stage, index));
        const others = Array.from({ length: clients }, async () => {
          await pause(random.below(3_000));
          return stage.ask(anyKind(random), "b");
        });
        const lost = notWhole(await Promise.all(others));
        stage.expect(lost.length === 0, `others: ${tell(lost)}`);
        await Promise.all(asked);
        await expectQuiet(stage);
        const ms = await stage.gateway.terminate();
        const left = await leftOf(started);
        stage.expect(left.length === 0, `${left.length} processes are left`);
        for (const pid of left) process.kill(pid, "SIGKILL");
        return `${pidsIn(started).length} processes, none left ${Math.round(ms)} ms after SIGTERM`;
      },
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function toServers(chosen: readonly string[], started: string) {
  return Object.fromEntries(
    chosen.map((script, index) => [
      `program${index}`,
      { command: process.execPath, args: programArguments(toScript(script, started)) },
    ]),
  );
}

/** A program that misbehaves after it has listed its tools, and has two processes that resist their end. */
function toScript(script: string, started: string): string {
  const stubborn = `process.on("SIGTERM", () => undefined); setInterval(() => undefined, 1000);`;
  return `
    spawn(${JSON.stringify(stubborn)});
    spawn(${JSON.stringify(stubborn)});
    require("node:fs").appendFileSync(${JSON.stringify(started)}, started.join("\\n") + "\\n");
    const { list } = on;
    on.list = (id) => { list(id); ${script} };`;
}

/** Processes that still run although they had time to end: a killed process is listed until it is reaped. */
async function leftOf(started: string): Promise<number[]> {
  let left = pidsIn(started);
  for (let tries = 0; tries < 100 && left.length > 0; tries++) {
    left = left.filter((pid) => isRunning(pid));
    await pause(100);
  }
  return left;
}

function pidsIn(started: string): number[] {
  if (!existsSync(started)) return [];
  return readFileSync(started, "utf8").trim().split("\n").map(Number);
}

/** A server that cannot be used is an item with an error, and the answer comes without it. */
async function askForTools(stage: Stage, index: number): Promise<void> {
  const { origin, key, number } = stage.next("a");
  const response = await fetch(`${origin}/v1/responses`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${key}` },
    body: JSON.stringify({
      model: MODEL,
      input: `number ${number} .`,
      tools: [{ type: "mcp", server_label: `program${index}`, require_approval: "never" }],
    }),
  });
  const text = await response.text();
  stage.expect(response.status === 200, `tools of program${index}: ${response.status} ${text}`);
}
