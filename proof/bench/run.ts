/**
 * `npm run bench`: measures every hot path beside its peers, prints the tables and keeps them under `proof/bench/results/`.
 *
 *     sh proof/bench/peers/setup.sh                  once: what is measured beside, into a folder of its own
 *     npm run bench                        everything, five times over: it takes long
 *     npm run bench -- --quick             all of it once and short, in minutes
 *     npm run bench -- --quick --figures   and its figures into the pages of the docs
 *     npm run bench -- --suite streaming --scenario bulk,paced-64 --contender gateway,hono-pipe
 *     npm run bench -- --proxy bifrost=8080 --engine-port 9000 --header "authorization: Bearer x"
 *
 * With `--proxy`, another gateway that is running already takes part: it must send to the engine at `--engine-port`
 * and take engine requests at `/v1/completions`; with `--proxy-wire chat`, chat requests.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

import { runInner } from "./inner/suite.ts";
import { describeMachine } from "./machine.ts";
import { toMarkdown } from "./report.ts";
import type { Results } from "./results.ts";
import { type Contender, CONTENDERS } from "./streaming/contenders.ts";
import { SCENARIOS } from "./streaming/scenarios.ts";
import { PEERS } from "./peers-table.ts";
import { runSizes } from "./sizes/suite.ts";
import { runStreaming } from "./streaming/suite.ts";
import { runText } from "./text/suite.ts";

const SUITES = ["streaming", "text", "inner", "sizes"] as const;

const { values: given } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    figures: { type: "boolean", default: false },
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

const absent = PEERS.filter((peer) => !CONTENDERS.some(({ name }) => name === peer));
if (absent.length > 0) {
  process.stderr.write(
    `Left out, not installed: ${absent.join(", ")} (sh proof/bench/peers/setup.sh)\n`,
  );
}
const machine = describeMachine();
// Runs the build, not sources whose types are stripped at start.
const { status } = spawnSync("npm", ["run", "--silent", "build"], { stdio: "ignore" });
if (status !== 0) throw new Error("the build has failed");
const results: Results = {
  machine,
  command: describeCommand(process.argv.slice(2)),
  rounds,
  ...(suites.includes("streaming") && { streaming: await runStreaming(streamingOptions()) }),
  ...(suites.includes("text") && { text: await runText({ rounds, onProgress }) }),
  ...(suites.includes("inner") && {
    inner: await runInner({ rounds, passes: given.quick ? 3 : 20, onProgress }),
  }),
  ...(suites.includes("sizes") && {
    sizes: await runSizes({ rounds, passes: 5, onProgress }),
  }),
};
onProgress("");
const markdown = toMarkdown(results);
process.stdout.write(`\n${markdown}`);
const path = keep(results, markdown);
if (given.figures) {
  execFileSync(process.execPath, ["scripts/write-docs.ts", path], { stdio: "inherit" });
}

/** The command that repeats the measurement. */
function describeCommand(args: readonly string[]): string {
  const measuring = args.filter((arg) => arg !== "--figures");
  return ["npm run bench", ...(measuring.length > 0 ? ["--", ...measuring] : [])].join(" ");
}

function streamingOptions() {
  const scenarios = listed(given.scenario);
  const contenders = listed(given.contender);
  return {
    rounds,
    windowMs: given.quick ? 2000 : 3000,
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

/** Returns the path of the JSON. */
function keep(of: Results, text: string): string {
  const folder = new URL("./results/", import.meta.url);
  const name = machine.startedAt.slice(0, 19).replaceAll(":", "");
  const json = new URL(`${name}.json`, folder);
  mkdirSync(folder, { recursive: true });
  writeFileSync(json, JSON.stringify(of, undefined, 1));
  writeFileSync(new URL(`${name}.md`, folder), text);
  process.stderr.write(`\nKept as proof/bench/results/${name}.{json,md}\n`);
  return fileURLToPath(json);
}
