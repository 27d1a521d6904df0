/**
 * Measures how long the event loop is held while the whole record of a long turn is sent, saved as a page, and captured:
 * `node bench/record-hold.ts [tokens] [rounds] [checkout]`.
 *
 * As in `loop-hold.ts`, it is the CPU time of the gateway's thread between two iterations of its event loop, and the best
 * round counts. `grown` is by how much the process' memory was larger at most meanwhile. The engine sends token by token, at the
 * rate of its timers, so that each is a read and an event of its own: a turn of 100,000 tokens takes two minutes.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { freePort } from "../test/helpers/listen.ts";
import { startHelper } from "./child.ts";
import type { Held, Watch } from "./loop-watch.ts";
import { MODEL } from "./streaming/requests.ts";
import type { Script } from "./streaming/upstream.ts";

const TOKENS = Number(process.argv[2] ?? 100_000);
const ROUNDS = Number(process.argv[3] ?? 5);
const ROOT = process.argv[4] ?? ".";
const TOKENS_PER_SECOND = 900;
const KEY = "token-of-the-benchmark";
const MEMORY_EVERY_MS = 5;

interface Case {
  readonly name: string;
  readonly method: "GET" | "POST";
  readonly path: string;
}

const CASES: readonly Case[] = [
  { name: "shown on the page", method: "GET", path: "" },
  { name: "saved for replay", method: "GET", path: "/file?as=json" },
  { name: "saved as a page", method: "GET", path: "/file?as=html" },
  { name: "captured", method: "POST", path: "/capture" },
];

interface Measured {
  readonly held: number;
  readonly bytes: number;
  readonly grownMb: number;
}

const folder = mkdtempSync(join(tmpdir(), "record-hold-"));
const engine = await startHelper(new URL("./streaming/upstream.ts", import.meta.url), {
  greets: true,
});
await engine.ask({
  mode: "paced",
  phase: "step",
  shape: "answer",
  tokens: TOKENS,
  tokensPerSecond: TOKENS_PER_SECOND,
} satisfies Script);
const port = await freePort();
const origin = `http://127.0.0.1:${port}`;
const gateway = await startHelper(new URL("src/node.ts", pathToFileURL(`${ROOT}/`)), {
  args: [
    "--engine=vllm",
    `--url=http://127.0.0.1:${engine.greeting}`,
    `--model=${MODEL}`,
    `--port=${port}`,
    "--log=error",
    "--inspect",
    `--inspect-key=${KEY}`,
    `--inspect-max-bytes=${1024 * 1024 * 1024}`,
    `--capture=${folder}`,
  ],
  nodeFlags: [`--import=${new URL("./loop-watch.ts", import.meta.url).href}`],
  greets: true,
});
const measured = new Map<string, Measured[]>(CASES.map(({ name }) => [name, []]));
try {
  await untilReady();
  await recordTurn();
  await untilCaptured();
  for (let round = 0; round < ROUNDS; round++) {
    for (const each of CASES) measured.get(each.name)?.push(await measure(each));
  }
} finally {
  await gateway.stop();
  await engine.stop();
  rmSync(folder, { recursive: true });
}
console.table(
  CASES.map(({ name }) => {
    const rounds = measured.get(name) ?? [];
    const held = rounds.map((round) => round.held);
    return {
      "a whole record": name,
      "held, ms": Math.round(Math.min(...held)),
      "worst round": Math.round(Math.max(...held)),
      "grown, MB": Math.round(Math.min(...rounds.map(({ grownMb }) => grownMb))),
      "MB sent": ((rounds[0]?.bytes ?? 0) / 1_000_000).toFixed(1),
    };
  }),
);

async function untilReady(): Promise<void> {
  for (;;) {
    const response = await fetch(`${origin}/ready`).catch(() => undefined);
    if (response?.ok) return;
    await pause(50);
  }
}

async function recordTurn(): Promise<void> {
  const response = await fetch(`${origin}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      model: MODEL,
      messages: [{ role: "user", content: "Hi" }],
      max_tokens: TOKENS + 10_000,
      stream: true,
    }),
  });
  await response.text();
}

/** The gateway has captured the turn by itself. */
async function untilCaptured(): Promise<void> {
  while (!readdirSync(folder).some((name) => name.endsWith(".json"))) await pause(50);
}

async function measure({ method, path }: Case): Promise<Measured> {
  await pause(200);
  // No body is parsed.
  await gateway.ask({ bodyLength: -1 } satisfies Watch);
  const before = residentMb();
  let most = before;
  const watching = setInterval(() => (most = Math.max(most, residentMb())), MEMORY_EVERY_MS);
  const response = await fetch(`${origin}/inspect/api/turns/1${path}`, {
    method,
    headers: { "x-inspect-token": KEY },
  });
  let bytes = 0;
  for await (const chunk of response.body ?? []) bytes += chunk.length;
  clearInterval(watching);
  const { longestMs }: Held = await gateway.ask("end");
  if (!response.ok) throw new Error(`turns/1${path} was answered with ${response.status}`);
  return { held: longestMs, bytes, grownMb: most - before };
}

function residentMb(): number {
  const status = readFileSync(`/proc/${gateway.pid}/status`, "utf8");
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1000;
}
