/**
 * What vLLM's own chat endpoint costs, and what the gateway over the same server costs: CPU of the processes that speak
 * HTTP, and the time of a short request. The engine's process is not counted; it does the same for both.
 *
 *     node real/overhead.ts --url http://127.0.0.1:18000 --pid PID_OF_VLLM_SERVE
 *
 * The gateway must have been built (`npm run build`). Rounds alternate, and the medians are printed.
 */
import { parseArgs } from "node:util";
import { freePort } from "../test/helpers/listen.ts";
import { cpuMs, startProgram } from "../bench/child.ts";

const MODEL = "openai/gpt-oss-20b";
const ROUNDS = 5;
const STREAMS = 8;
const TOKENS = 400;

const { values } = parseArgs({ options: { url: { type: "string" }, pid: { type: "string" } } });
const { url } = values;
const serverPid = Number(values.pid);
if (url === undefined || !(serverPid > 0)) {
  throw new Error("usage: node real/overhead.ts --url URL --pid PID_OF_VLLM_SERVE");
}

const port = await freePort();
const flags = ["--engine", "vllm", "--url", url, "--model", MODEL, "--log", "warn"];
const gateway = await startProgram(
  process.execPath,
  [new URL("../dist/node.js", import.meta.url).pathname, "--port", `${port}`, ...flags],
  `http://127.0.0.1:${port}/ready`,
);
const paths = [
  { name: "vLLM's own endpoint", baseURL: url, pids: [serverPid] },
  {
    name: "gateway, and vLLM's completions",
    baseURL: `http://127.0.0.1:${port}`,
    pids: [serverPid, gateway.pid],
  },
];

const found = paths.map(() => ({ perToken: [] as number[][], firstMs: [] as number[] }));
for (let round = -1; round < ROUNDS; round += 1) {
  for (const [index, path] of paths.entries()) {
    const perToken = await costPerToken(path);
    const firstMs = await shortRequest(path.baseURL);
    if (round < 0) continue;
    found[index]?.perToken.push(perToken);
    found[index]?.firstMs.push(firstMs);
  }
}
await gateway.stop();

console.log("| | CPU of vLLM's API process | of the gateway | a request of one token |");
console.log("| --- | --- | --- | --- |");
for (const [index, { name }] of paths.entries()) {
  const { perToken = [], firstMs = [] } = found[index] ?? {};
  const [server = NaN, own] = [0, 1].map((of) => median(perToken.map((each) => each[of] ?? NaN)));
  const ownCell = own === undefined || Number.isNaN(own) ? "–" : `${own.toFixed(0)} µs / token`;
  const cells = [
    name,
    `${server.toFixed(0)} µs / token`,
    ownCell,
    `${median(firstMs).toFixed(1)} ms`,
  ];
  console.log(`| ${cells.join(" | ")} |`);
}

/** Microseconds of CPU for each token, by process. */
async function costPerToken({ baseURL, pids }: (typeof paths)[number]): Promise<number[]> {
  const before = pids.map((pid) => cpuMs(pid));
  const counts = await Promise.all(Array.from({ length: STREAMS }, () => ask(baseURL, TOKENS)));
  const tokens = counts.reduce((sum, count) => sum + count, 0);
  return pids.map((pid, at) => ((cpuMs(pid) - (before[at] ?? 0)) * 1000) / tokens);
}

/** Milliseconds: the median of several, one after another. */
async function shortRequest(baseURL: string): Promise<number> {
  const times: number[] = [];
  for (let count = 0; count < 10; count += 1) {
    const start = performance.now();
    await ask(baseURL, 1);
    times.push(performance.now() - start);
  }
  return median(times);
}

/** A stream of so many tokens. Gives how many there were. */
async function ask(baseURL: string, tokens: number): Promise<number> {
  const response = await fetch(`${baseURL}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      model: MODEL,
      stream: true,
      stream_options: { include_usage: true },
      temperature: 0,
      max_tokens: tokens,
      // Without ` ✓` the tiny model goes on reasoning.
      logit_bias: { 81033: -100 },
      messages: [{ role: "user", content: "Hi" }],
    }),
  });
  if (!response.ok) throw new Error(`${baseURL}: ${response.status} ${await response.text()}`);
  const [, count] = /"completion_tokens":(\d+)/.exec(await response.text()) ?? [];
  return Number(count);
}

function median(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? NaN;
}
