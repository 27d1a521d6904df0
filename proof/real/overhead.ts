/**
 * Measures the cost of vLLM's own chat endpoint, and of the gateway and other gateways in front of the same server: CPU
 * of the processes that speak HTTP, and the time of a short request. The engine's process is not counted; it does the
 * same for all.
 *
 *     node proof/real/overhead.ts --url http://127.0.0.1:18000 --pid PID_OF_VLLM_SERVE
 *
 * The gateway must have been built (`npm run build`), the others installed (`sh proof/bench/peers/setup.sh`,
 * `proof/bench/peers/setup-litellm.sh`). In each window each contender gets one request, in a different order each
 * time. The output is medians with 95 % intervals; ratios compare equal windows.
 */
import { parseArgs } from "node:util";
import { cpuMs } from "../bench/child.ts";
import {
  type Estimate,
  estimateMean,
  estimateRatio,
  toMeasured,
  toPercentiles,
} from "../bench/statistics.ts";
import {
  type Contender,
  gateway,
  litellm,
  portkey,
  startContender,
} from "../bench/streaming/contenders.ts";

const MODEL = "openai/gpt-oss-20b";
const STREAMS = 8;
const TOKENS = 100;

interface Path {
  readonly name: string;
  readonly baseURL: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Id of the process in front of vLLM, if there is one. */
  readonly pid?: number | undefined;
  /** A number for each window. */
  readonly serverUs: number[];
  readonly ownUs: number[];
  readonly totalUs: number[];
  readonly firstMs: number[];
}

const { values } = parseArgs({
  options: {
    url: { type: "string" },
    pid: { type: "string" },
    windows: { type: "string", default: "15" },
  },
});
const { url } = values;
const serverPid = Number(values.pid);
if (url === undefined || !(serverPid > 0)) {
  throw new Error("usage: node proof/real/overhead.ts --url URL --pid PID_OF_VLLM_SERVE");
}

const contenders: readonly Contender[] = [
  gateway("gateway over vLLM's completions", "chat", new URL("../../", import.meta.url)),
  { ...portkey(), name: "Portkey over vLLM's own endpoint" },
  { ...litellm("openai"), name: "LiteLLM over vLLM's own endpoint" },
];
const running = [];
for (const each of contenders) running.push(await startContender(each, Number(new URL(url).port)));
const own: Path = { name: "vLLM's own endpoint", baseURL: url, headers: {}, ...noNumbers() };
const paths: readonly Path[] = [
  own,
  ...running.map(({ contender, target, pid }) => ({
    name: contender.name,
    baseURL: `http://127.0.0.1:${target.port}`,
    headers: target.headers,
    pid,
    ...noNumbers(),
  })),
];
try {
  // The first is for warming up.
  for (let window = -1; window < Number(values.windows); window += 1) {
    for (const [at] of paths.entries()) {
      const path = paths[(at + window + 1) % paths.length];
      if (path !== undefined) await measure(path, window >= 0);
    }
  }
} finally {
  await Promise.all(running.map((each) => each.stop()));
}

console.log(
  "| | vLLM's API process, µs / token | in front of it, µs / token | together, ratio to vLLM's own | a request of one token, ms | ratio |",
);
console.log("| --- | --- | --- | --- | --- | --- |");
for (const path of paths) {
  const isOwn = path === own;
  const cells = [
    path.name,
    print(estimateMean([path.serverUs]), 0),
    isOwn ? "–" : print(estimateMean([path.ownUs]), 0),
    isOwn ? "1" : print(compare(path.totalUs, own.totalUs), 2),
    print(estimateMean([path.firstMs]), 1),
    isOwn ? "1" : print(compare(path.firstMs, own.firstMs), 2),
  ];
  console.log(`| ${cells.join(" | ")} |`);
}

function noNumbers() {
  return { serverUs: [], ownUs: [], totalUs: [], firstMs: [] };
}

/** All windows are of the same processes. */
function compare(ours: readonly number[], theirs: readonly number[]): Estimate {
  return estimateRatio(toMeasured(ours, ours.length), toMeasured(theirs, theirs.length));
}

function print({ value, low, high }: Estimate, digits: number): string {
  const [middle, least, most] = [value, low, high].map((each) => each.toFixed(digits));
  return `${middle} (${least}–${most})`;
}

/** Measures one window of one path. */
async function measure(path: Path, counts: boolean): Promise<void> {
  const used = () => [cpuMs(serverPid), path.pid === undefined ? 0 : cpuMs(path.pid)] as const;
  const before = used();
  const tokens = await Promise.all(Array.from({ length: STREAMS }, () => ask(path, TOKENS)));
  const after = used();
  const sum = tokens.reduce((all, count) => all + count, 0);
  const firstMs: number[] = [];
  for (let count = 0; count < 5; count += 1) {
    const start = performance.now();
    await ask(path, 1);
    firstMs.push(performance.now() - start);
  }
  if (!counts) return;
  const [server, front] = [0, 1].map((of) => (((after[of] ?? 0) - (before[of] ?? 0)) * 1000) / sum);
  path.serverUs.push(server ?? NaN);
  path.ownUs.push(front ?? NaN);
  path.totalUs.push((server ?? NaN) + (front ?? NaN));
  path.firstMs.push(toPercentiles(firstMs).p50);
}

/** Requests a stream of this many tokens. Returns the number received. */
async function ask({ baseURL, headers }: Path, tokens: number): Promise<number> {
  const response = await fetch(`${baseURL}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify({
      model: MODEL,
      stream: true,
      stream_options: { include_usage: true },
      temperature: 0,
      max_tokens: tokens,
      // Without ` ✓` the tiny model continues to reason.
      logit_bias: { 81033: -100 },
      messages: [{ role: "user", content: "Hi" }],
    }),
  });
  if (!response.ok) throw new Error(`${baseURL}: ${response.status} ${await response.text()}`);
  const [, count] = /"completion_tokens":(\d+)/.exec(await response.text()) ?? [];
  if (count === undefined) throw new Error(`${baseURL} does not count its tokens`);
  return Number(count);
}
