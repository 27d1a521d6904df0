/**
 * Installs the package as a user would, from the tarball `npm publish` would send, and tries it on Node, Bun, Deno, Vercel's edge
 * runtime and Cloudflare's. That takes the network and minutes, so it is no test.
 *
 *     npm run smoke            # on all of them; writes the table in docs/edge.md
 *     npm run smoke -- bun     # on one: node, bun, deno, edge-runtime, workerd, or embed: the examples of embedding
 *
 * Each has an engine in this process that speaks vLLM's wire format, and must do what `smoke/features.ts` lists, and stop on
 * SIGTERM where it is a process of its own.
 */
import { execFileSync, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { startEngineServer } from "../test/helpers/engine-server.ts";
import { freePort } from "../test/helpers/listen.ts";
import { scriptedEngine } from "../test/helpers/scripted-engine.ts";
import { toVariables } from "../test/helpers/worker-variables.ts";
import { emptyFolder, startWorkerd } from "../test/helpers/workerd.ts";
import { FEATURES } from "./smoke/features.ts";
import { writeTable } from "./smoke/table.ts";

const ROOT = join(import.meta.dirname, "..");
const PAGE = join(ROOT, "docs/edge.md");
const PACKAGES = ["bun@1.4.5", "deno@2.9.6", "edge-runtime@4.0.1", "esbuild@0.28.2", "express@5"];

const STOPS = "SIGTERM ends it";
const results = new Map<string, Map<string, boolean | undefined>>();

const folder = mkdtempSync(join(tmpdir(), "harmony-gateway-smoke-"));
const bin = (name: string) => join(folder, "node_modules/.bin", name);
const nodeEntry = join(folder, "node_modules/harmony-gateway/dist/node.js");

const smokes: Readonly<Record<string, () => Promise<void>>> = {
  node: () => smoke(`Node ${process.versions.node}`, inProcess([bin("harmony-gateway")])),
  bun: () => smoke(`Bun ${versionOf("bun")}`, inProcess([bin("bun"), nodeEntry])),
  deno: () =>
    smoke(`Deno ${versionOf("deno")}`, inProcess([bin("deno"), "run", "--allow-all", nodeEntry])),
  "edge-runtime": () =>
    smoke(
      `edge-runtime ${versionOf("edge-runtime")}`,
      (settings) => inProcess([process.execPath, writeEdgeServer()])(settings),
      ["a WebSocket"],
    ),
  workerd: () => smoke(`workerd ${versionOf("workerd", ROOT)}`, inWorkerd),
  embed: async () => {
    await embed("express", [process.execPath]);
    await embed("bun", [bin("bun")]);
    await embed("deno", [bin("deno"), "run", "--allow-all"]);
  },
};

const asked = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(smokes);
const unknown = asked.filter((name) => !(name in smokes));
if (unknown.length > 0) {
  throw new Error(`There is no runtime ${unknown.join(", ")}: ${Object.keys(smokes).join(", ")}.`);
}

try {
  install();
  for (const name of asked) await smokes[name]?.();
  if (process.argv.length === 2 && process.exitCode === undefined) writeTable(PAGE, results);
} finally {
  rmSync(folder, { recursive: true });
}

function install(): void {
  run("npm", ["pack", "--silent", "--pack-destination", folder], ROOT);
  const tarball = readdirSync(folder).find((name) => name.endsWith(".tgz")) ?? "";
  writeFileSync(join(folder, "package.json"), '{ "private": true }');
  run("npm", ["install", "--no-audit", "--no-fund", `./${tarball}`, ...PACKAGES], folder);
}

function run(command: string, args: readonly string[], cwd: string): void {
  execFileSync(command, args, { cwd, stdio: ["ignore", "ignore", "inherit"] });
}

function versionOf(name: string, where = folder): string {
  const manifest = readFileSync(join(where, "node_modules", name, "package.json"), "utf8");
  return String(JSON.parse(manifest).version);
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
  const body = JSON.stringify({ messages: [{ role: "user", content: "Hello!" }] });
  const url = `http://127.0.0.1:${port}/llm/v1/chat/completions`;
  try {
    for (let attempts = 0; ; attempts += 1) {
      const response = await fetch(url, { method: "POST", body }).catch(() => undefined);
      if (response?.status === 200 && (await response.text()).includes("demo engine")) break;
      if (attempts === 100) throw new Error(`examples/embed/${name}.mjs does not answer.`);
      await setTimeout(200);
    }
  } finally {
    child.kill("SIGKILL");
  }
  console.log(`ok: examples/embed/${name}.mjs answers`);
}

/** A gateway in a runtime. */
interface Started {
  readonly origin: string;
  /** Ends it as its supervisor would. Undefined: it is no process of its own. */
  readonly leave?: () => Promise<boolean>;
  readonly end: () => unknown;
}

type Start = (settings: Readonly<Record<string, unknown>>) => Promise<Started>;

/** @param lacks features that the runtime does not have. Any other that does not hold fails the run. */
async function smoke(runtime: string, start: Start, lacks: readonly string[] = []): Promise<void> {
  const key = "hg-smoke";
  const server = await startEngineServer(scriptedEngine([]));
  const { origin, leave, end } = await start({
    engine: "vllm",
    url: server.url,
    keys: [`smoke:${createHash("sha256").update(key).digest("hex")}`],
    log: "error",
    // Where a client that has left is noticed by the next write.
    keepAliveMs: 500,
  });
  const held = new Map<string, boolean | undefined>();
  results.set(runtime, held);
  const check = async (name: string, holds: () => Promise<boolean>) => {
    const why = await holds().then(
      (does) => (does ? "" : "it does not hold"),
      (error: unknown) => String(error),
    );
    const isExpected = (why === "") !== lacks.includes(name);
    held.set(name, why === "");
    console.log(`${isExpected ? "ok    " : "FAILED"} ${runtime}: ${name}${why && ` (${why})`}`);
    if (!isExpected) process.exitCode = 1;
  };
  try {
    for (const { name, holds } of FEATURES) {
      await check(name, () => holds({ origin, key, server }));
    }
    if (leave === undefined) held.set(STOPS, undefined);
    else await check(STOPS, leave);
  } finally {
    await end();
    await server.close();
  }
}

/** A process of a runtime, with the settings as variables. */
function inProcess([command = "", ...args]: readonly string[]): Start {
  return async (settings) => {
    const port = await freePort();
    const child = spawn(command, args, {
      cwd: folder,
      stdio: ["ignore", "ignore", "inherit"],
      env: { ...process.env, ...toVariables({ ...settings, port }) },
    });
    const exit = once(child, "exit");
    return {
      origin: `http://127.0.0.1:${port}`,
      async leave() {
        child.kill();
        await Promise.race([exit, setTimeout(5000, undefined, { ref: false })]);
        return child.exitCode === 0;
      },
      end: () => child.kill("SIGKILL"),
    };
  };
}

/** The Worker of one line, bundled, in Cloudflare's runtime. */
async function inWorkerd(settings: Readonly<Record<string, unknown>>): Promise<Started> {
  const bundle = await emptyFolder();
  const entry = join(folder, "worker.js");
  writeFileSync(entry, 'export { default } from "harmony-gateway/worker";\n');
  const outfile = join(bundle.folder, "worker.js");
  const args = [entry, "--bundle", "--format=esm", "--log-level=error", `--outfile=${outfile}`];
  run(bin("esbuild"), args, folder);
  const worker = await startWorkerd(bundle, settings);
  return {
    origin: worker.origin,
    async end() {
      await worker.close();
      await bundle.remove();
    },
  };
}

/** An edge function as Vercel takes it, bundled, in the package that imitates what it runs in. */
function writeEdgeServer(): string {
  const entry = join(folder, "edge.js");
  const bundle = join(folder, "edge-bundle.js");
  const server = join(folder, "edge-server.mjs");
  writeFileSync(
    entry,
    `import worker from "harmony-gateway/worker";
addEventListener("fetch", (event) => event.respondWith(worker.fetch(event.request, ENV, event)));
`,
  );
  run(bin("esbuild"), [entry, "--bundle", "--log-level=error", `--outfile=${bundle}`], folder);
  writeFileSync(
    server,
    `import { readFileSync } from "node:fs";
import { EdgeRuntime, runServer } from "edge-runtime";
const runtime = new EdgeRuntime({
  initialCode: readFileSync(${JSON.stringify(bundle)}, "utf8"),
  extend: (context) => Object.assign(context, { ENV: { ...process.env } }),
});
await runServer({ runtime, host: "127.0.0.1", port: Number(process.env.HARMONY_GATEWAY_PORT) });
process.once("SIGTERM", () => process.exit());
`,
  );
  return server;
}
