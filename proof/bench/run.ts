/**
 * `npm run bench`: measures every hot path beside its peers, prints the tables and keeps them under `proof/bench/results/`.
 *
 *     npm run bench:peers                  once: what is measured beside, into a folder of its own
 *     npm run bench                        everything, five times over: it takes long
 *     npm run bench -- --quick             all of it once and short, under two minutes
 *     npm run bench -- --suite streaming --scenario bulk,paced-64 --contender gateway,hono-pipe
 *     npm run bench -- --proxy bifrost=8080 --engine-port 9000 --header "authorization: Bearer x"
 *
 * With `--proxy`, another gateway that is running already takes part: it must send to the engine at `--engine-port`
 * and take engine requests at `/v1/completions`; with `--proxy-wire chat`, chat requests.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";

import { runInner } from "./inner/suite.ts";
import { describeMachine } from "./machine.ts";
import { toMarkdown } from "./report.ts";
import type { Results } from "./results.ts";
import { type Contender, CONTENDERS } from "./streaming/contenders.ts";
import { SCENARIOS } from "./streaming/scenarios.ts";
import { runStreaming } from "./streaming/suite.ts";
import { runText } from "./text/suite.ts";

const SUITES = ["streaming", "text", "inner"] as const;

const { values: given } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    rounds: { type: "string" },
    windows: { type: "string" },
    suite: { type: "string", multiple: true },
    scenario: { type: "string", multiple: true },
    contender: { type: "string", multiple: true },
    proxy: { type: "string", multiple: true },
    "proxy-wire": { type: "string", default: "engine" },
    header: { type: "string", multiple: true },
    "engine-port": { type: "string", default: "0" },
  },
});

const rounds = Number(given.rounds ?? (given.quick ? 1 : 5));
const suites = listed(given.suite) ?? [...SUITES];
const onProgress = process.stderr.isTTY
  ? (line: string) => process.stderr.write(`\r\u001b[K${line}`)
  : () => {};

const machine = describeMachine();
// Runs the build, not sources whose types are stripped at start.
const { status } = spawnSync("npm", ["run", "--silent", "build"], { stdio: "ignore" });
if (status !== 0) throw new Error("the build has failed");
const results: Results = {
  machine,
  command: [
    "npm run bench",
    ...(process.argv.length > 2 ? ["--", ...process.argv.slice(2)] : []),
  ].join(" "),
  rounds,
  ...(suites.includes("streaming") && { streaming: await runStreaming(streamingOptions()) }),
  ...(suites.includes("text") && { text: await runText({ rounds, onProgress }) }),
  ...(suites.includes("inner") && {
    inner: await runInner({ rounds, passes: given.quick ? 3 : 20, onProgress }),
  }),
};
onProgress("");
const markdown = toMarkdown(results);
process.stdout.write(`\n${markdown}`);
keep(results, markdown);

function streamingOptions() {
  const scenarios = listed(given.scenario);
  const contenders = listed(given.contender);
  return {
    rounds,
    windowMs: given.quick ? 600 : 3000,
    settleMs: given.quick ? 300 : 1000,
    asks: given.quick ? 100 : 1000,
    warmUpRequests: given.quick ? 1000 : 10_000,
    windows: Number(given.windows ?? (given.quick ? 6 : 5)),
    sameWindowMs: given.quick ? 500 : 800,
    enginePort: Number(given["engine-port"]),
    onProgress,
    scenarios: SCENARIOS.filter(({ name, slow = false }) =>
      scenarios === undefined ? !(given.quick && slow) : scenarios.includes(name),
    ),
    contenders: [
      ...CONTENDERS.filter(({ name, slow = false }) =>
        contenders === undefined ? !(given.quick && slow) : contenders.includes(name),
      ),
      ...(given.proxy ?? []).map((proxy) => toContender(proxy)),
    ],
  };
}

/** `name=port` of a gateway on this machine. */
function toContender(proxy: string): Contender {
  const [name = proxy, port] = proxy.split("=");
  const headers = Object.fromEntries(
    (given.header ?? []).map((line) => {
      const colon = line.indexOf(":");
      return [line.slice(0, colon).trim(), line.slice(colon + 1).trim()];
    }),
  );
  return {
    name,
    wire: given["proxy-wire"] === "chat" ? "chat" : "engine",
    headers: () => headers,
    port: () => Number(port),
  };
}

function listed(options: readonly string[] | undefined): string[] | undefined {
  return options?.flatMap((each) => each.split(","));
}

function keep(of: Results, text: string): void {
  const folder = new URL("./results/", import.meta.url);
  const name = machine.startedAt.slice(0, 19).replaceAll(":", "");
  mkdirSync(folder, { recursive: true });
  writeFileSync(new URL(`${name}.json`, folder), JSON.stringify(of, undefined, 1));
  writeFileSync(new URL(`${name}.md`, folder), text);
  process.stderr.write(`\nKept as proof/bench/results/${name}.{json,md}\n`);
}
