/**
 * Installs both packages as a user would, from the tarballs that `npm publish` would send, and tries them on Node, Bun, Deno, Vercel's
 * edge runtime and Cloudflare's. That takes the network and minutes, so it is no test.
 *
 *     node scripts/smoke.ts            # on all of them; writes the table in docs/runtimes.md
 *     node scripts/smoke.ts bun     # one: node, oldest-node, bun, deno, edge-runtime, workerd, embed or global
 *
 * `oldest-node` is the oldest Node of each package. Each runtime has an engine in this process that speaks vLLM's wire format, must do
 * what `smoke/features.ts` and `smoke/harmony.ts` list, and must stop on SIGTERM where it is a process of its own. `embed` runs the
 * examples of embedding, `global` the command after an installation with `--global`.
 */
import { execFileSync, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import * as z from "zod";
import { startEngineServer } from "../test/helpers/engine-server.ts";
import { freePort } from "../test/helpers/listen.ts";
import { scriptedEngine } from "../test/helpers/scripted-engine.ts";
import { FEATURES } from "./smoke/features.ts";
import {
  HARMONY_FEATURES,
  printedBySources,
  toModule,
  writeHarmonyExamples,
} from "./smoke/harmony.ts";
import {
  edgeRuntime,
  fetchWhenUp,
  processRuntime,
  type Runtime,
  workerdRuntime,
} from "./smoke/runtimes.ts";
import { writeTable } from "./smoke/table.ts";

const ROOT = join(import.meta.dirname, "..");
const PAGE = join(ROOT, "docs/runtimes.md");
const PACKAGES = ["bun@1.4.5", "deno@2.9.6", "edge-runtime@4.0.1", "esbuild@0.28.2", "express@5"];

const STOPS = "SIGTERM ends it";
const results = new Map<string, Map<string, boolean>>();

const folder = mkdtempSync(join(tmpdir(), "harmony-gateway-smoke-"));
const bin = (name: string) => join(folder, "node_modules/.bin", name);
const DENO = [bin("deno"), "run", "--allow-all"];

const smokes: Readonly<Record<string, () => Promise<void>>> = {
  node: () => smokeAll(onNode(process.execPath)),
  "oldest-node": async () => {
    await smokeAll(onNode(installNode("harmony-gateway")));
    await smokeHarmony(onNode(installNode("gpt-oss-harmony")));
  },
  bun: () => smokeAll(processRuntime(`Bun ${versionOf("bun")}`, folder, [bin("bun")])),
  deno: () => smokeAll(processRuntime(`Deno ${versionOf("deno")}`, folder, DENO)),
  "edge-runtime": () =>
    smokeAll(edgeRuntime(`edge-runtime ${versionOf("edge-runtime")}`, folder), ["a WebSocket"]),
  workerd: () => smokeAll(workerdRuntime(`workerd ${versionOf("workerd", ROOT)}`, folder)),
  embed: async () => {
    await embed("express", [process.execPath]);
    await embed("bun", [bin("bun")]);
    await embed("deno", DENO);
  },
  global: tryCommand,
};

const asked = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(smokes);
const unknown = asked.filter((name) => !(name in smokes));
if (unknown.length > 0) {
  throw new Error(`There is no runtime ${unknown.join(", ")}: ${Object.keys(smokes).join(", ")}.`);
}

let tarball = "";
try {
  install();
  writeHarmonyExamples(folder);
  for (const name of asked) await smokes[name]?.();
  if (process.argv.length === 2 && process.exitCode === undefined) writeTable(PAGE, results);
} finally {
  rmSync(folder, { recursive: true });
}

function install(): void {
  tarball = pack("harmony-gateway", ".");
  run(process.execPath, ["scripts/pack-harmony.ts"], ROOT);
  const harmony = pack("gpt-oss-harmony", "./dist-harmony");
  writeFileSync(join(folder, "package.json"), '{ "private": true }');
  run("npm", ["install", "--no-audit", "--no-fund", tarball, harmony, ...PACKAGES], folder);
}

/** @returns the path of the package's tarball */
function pack(name: string, source: string): string {
  run("npm", ["pack", source, "--silent", "--pack-destination", folder], ROOT);
  const file = readdirSync(folder).find((each) => each.startsWith(name) && each.endsWith(".tgz"));
  if (file === undefined) throw new Error(`npm packed no ${name}.`);
  return join(folder, file);
}

function run(command: string, args: readonly string[], cwd: string): void {
  execFileSync(command, args, { cwd, stdio: ["ignore", "ignore", "inherit"] });
}

function readManifest(name: string, where = folder): { version: string; engines?: unknown } {
  const manifest = readFileSync(join(where, "node_modules", name, "package.json"), "utf8");
  return z.looseObject({ version: z.string() }).parse(JSON.parse(manifest));
}

function versionOf(name: string, where?: string): string {
  return readManifest(name, where).version;
}

/** @returns npm's own program of the oldest Node that a package supports */
function installNode(name: string): string {
  const { engines } = readManifest(name);
  const { node } = z.object({ node: z.templateLiteral([">=", z.string()]) }).parse(engines);
  const prefix = join(folder, `node-for-${name}`);
  mkdirSync(prefix);
  const args = ["--no-audit", "--no-fund", "--loglevel=error", `node@${node.slice(2)}`];
  run("npm", ["install", "--prefix", prefix, ...args], prefix);
  return join(prefix, "node_modules/node/bin/node");
}

function onNode(program: string): Runtime {
  const version = execFileSync(program, ["--version"], { encoding: "utf8" }).trim().slice(1);
  return processRuntime(`Node ${version}`, folder, [program], bin("harmony-gateway"));
}

/** @param lacks features that the runtime does not have. Any other that does not hold fails the run. */
async function smokeAll(runtime: Runtime, lacks: readonly string[] = []): Promise<void> {
  await smokeGateway(runtime, lacks);
  await smokeHarmony(runtime);
}

async function smokeGateway(runtime: Runtime, lacks: readonly string[]): Promise<void> {
  const key = "hg-smoke";
  const server = await startEngineServer(scriptedEngine([]));
  const { origin, leave, end } = await runtime.start({
    engine: "vllm",
    url: server.url,
    keys: [`smoke:${createHash("sha256").update(key).digest("hex")}`],
    log: "error",
    // Where a client that has left is noticed by the next write.
    keepAliveMs: 500,
  });
  try {
    for (const { name, holds } of FEATURES) {
      await check(runtime, name, () => holds({ origin, key, server }), lacks);
    }
    if (leave !== undefined) await check(runtime, STOPS, leave);
  } finally {
    await end();
    await server.close();
  }
}

async function smokeHarmony(runtime: Runtime): Promise<void> {
  for (const { name, example } of HARMONY_FEATURES) {
    await check(runtime, name, async () => {
      return (await runtime.print(toModule(example))) === printedBySources(example);
    });
  }
}

async function check(
  { name: runtime }: Runtime,
  feature: string,
  holds: () => Promise<boolean>,
  lacks: readonly string[] = [],
): Promise<void> {
  const why = await holds().then(
    (does) => (does ? "" : "it does not hold"),
    (error: unknown) => String(error),
  );
  const isExpected = (why === "") !== lacks.includes(feature);
  const held = results.get(runtime) ?? new Map<string, boolean>();
  results.set(runtime, held.set(feature, why === ""));
  console.log(`${isExpected ? "ok    " : "FAILED"} ${runtime}: ${feature}${why && ` (${why})`}`);
  if (!isExpected) process.exitCode = 1;
}

/** Runs `examples/embed/<name>.mjs`, whose demo engine must answer below `/llm`. */
async function embed(name: string, [command = "", ...args]: readonly string[]): Promise<void> {
  const file = join(folder, `${name}.mjs`);
  writeFileSync(file, readFileSync(join(ROOT, "examples/embed", `${name}.mjs`)));
  const port = await freePort();
  const child = spawn(command, [...args, file], {
    cwd: folder,
    env: { ...process.env, PORT: String(port) },
    stdio: ["ignore", "ignore", "inherit"],
  });
  try {
    await expectAnswer(`http://127.0.0.1:${port}/llm/v1`, `examples/embed/${name}.mjs`);
  } finally {
    child.kill("SIGKILL");
  }
}

/** The command after `npm install --global`, found on a path that has it and Node alone. */
async function tryCommand(): Promise<void> {
  const prefix = join(folder, "global");
  const home = join(folder, "home");
  mkdirSync(home);
  run("npm", ["install", "--global", "--prefix", prefix, "--no-audit", "--no-fund", tarball], home);
  const path = [join(prefix, "bin"), dirname(process.execPath)].join(delimiter);
  const options = { cwd: home, env: { PATH: path, HOME: home } };
  const port = await freePort();
  const child = spawn("harmony-gateway", ["--port", String(port), "--log", "error"], {
    ...options,
    stdio: ["ignore", "ignore", "inherit"],
  });
  const gateway = `http://127.0.0.1:${port}`;
  try {
    await expectAnswer(`${gateway}/v1`, "harmony-gateway");
    const version = versionOf("harmony-gateway").replaceAll(".", "\\.");
    for (const [args, expected] of [
      [["--version"], new RegExp(`^${version}\n$`)],
      [["key", "alice"], /^alice:[0-9a-f]{64}$/m],
      [["connect", "codex", "--gateway", gateway], /^base_url = "http.+\/v1"$/m],
    ] as const) {
      const printed = execFileSync("harmony-gateway", args, { ...options, encoding: "utf8" });
      const command = `harmony-gateway ${args.join(" ")}`;
      if (!expected.test(printed)) throw new Error(`${command} prints:\n${printed}`);
      console.log(`ok: ${command}, installed globally`);
    }
  } finally {
    child.kill("SIGKILL");
  }
}

/** Throws where no demo engine answers. */
async function expectAnswer(baseUrl: string, what: string): Promise<void> {
  const body = JSON.stringify({ messages: [{ role: "user", content: "Hello!" }] });
  const response = await fetchWhenUp(`${baseUrl}/chat/completions`, { method: "POST", body });
  const text = await response.text();
  if (!response.ok || !text.includes("demo engine")) throw new Error(`${what} answers: ${text}`);
  console.log(`ok: ${what} answers`);
}
