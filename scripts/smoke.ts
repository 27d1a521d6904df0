/**
 * Installs the package as a user would, from the tarball `npm publish` would send, and tries it on Node, Bun, Deno and
 * Vercel's edge runtime. That takes the network and a minute, so it is no test.
 *
 *     npm run smoke            # on all of them
 *     npm run smoke -- bun     # on one: node, bun, deno, edge-runtime, or embed: the examples of embedding
 *
 * On each, with an engine in this process that speaks vLLM's wire format, it checks that the gateway becomes ready, that it
 * answers a Responses request, that the reasoning of a streamed tool loop is restored for a client that drops it, that a
 * disconnect aborts the engine's request, and that the process stops on SIGTERM. (Cloudflare's runtime is covered by the tests.)
 */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { startEngineServer } from "../test/helpers/engine-server.ts";
import { freePort } from "../test/helpers/listen.ts";
import { type Script, scriptedEngine } from "../test/helpers/scripted-engine.ts";
import {
  forgetful,
  loopScripts,
  type Post,
  runLoop,
  analysisIn,
} from "../test/helpers/tool-loop.ts";

const ROOT = join(import.meta.dirname, "..");
const MODEL = "openai/gpt-oss-20b";
const PACKAGES = ["bun@1.4.5", "deno@2.9.6", "edge-runtime@4.0.1", "esbuild@0.28.2", "express@5"];

const folder = mkdtempSync(join(tmpdir(), "harmony-gateway-smoke-"));
const bin = (name: string) => join(folder, "node_modules/.bin", name);
const nodeEntry = join(folder, "node_modules/harmony-gateway/dist/node.js");

const smokes: Readonly<Record<string, () => Promise<void>>> = {
  node: () => smoke(`Node ${process.versions.node}`, [bin("harmony-gateway")]),
  bun: () => smoke(`Bun ${versionOf("bun")}`, [bin("bun"), nodeEntry]),
  deno: () => smoke(`Deno ${versionOf("deno")}`, [bin("deno"), "run", "--allow-all", nodeEntry]),
  "edge-runtime": () =>
    smoke(`edge-runtime ${versionOf("edge-runtime")}`, [process.execPath, writeEdgeServer()]),
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

function versionOf(name: string): string {
  const manifest = readFileSync(join(folder, "node_modules", name, "package.json"), "utf8");
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

async function smoke(runtime: string, [command = "", ...args]: readonly string[]): Promise<void> {
  const answer = "<|channel|>final<|message|>Fine.<|return|>";
  const hanging: Script = { write: "<|channel|>analysis<|message|>Hm.", hang: true };
  const engine = scriptedEngine([answer, ...loopScripts("one"), hanging]);
  const server = await startEngineServer(engine);
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  const child = spawn(command, args, {
    cwd: folder,
    stdio: ["ignore", "ignore", "inherit"],
    env: {
      ...process.env,
      HARMONY_GATEWAY_PORT: String(port),
      HARMONY_GATEWAY_ENGINE: "vllm",
      HARMONY_GATEWAY_URL: server.url,
      HARMONY_GATEWAY_OPEN: "true",
      HARMONY_GATEWAY_LOG: "error",
      // The edge runtime's imitation notices that a client has left when there is something to write to it.
      HARMONY_GATEWAY_KEEP_ALIVE_MS: "500",
    },
  });
  const exit = once(child, "exit");
  const send = (path: string, body: object, headers: Record<string, string> = {}) =>
    fetch(origin + path, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify(body),
    });
  const post: Post = (body, headers) => send("/v1/chat/completions", body, headers);
  try {
    await check(runtime, "is ready", () => until(async () => (await fetch(`${origin}/ready`)).ok));
    await check(runtime, "answers a response", async () => {
      const response = await send("/v1/responses", { model: MODEL, input: "How are you?" });
      return (await response.text()).includes("Fine.");
    });
    await check(runtime, "keeps the reasoning of a tool loop", async () => {
      await runLoop(post, { remember: forgetful, body: { stream: true } });
      return analysisIn(engine.prompts.at(-1)).join() === "one 1,one 2,one 3";
    });
    await check(runtime, "lets go of the engine", async () => {
      const response = await post({ stream: true, messages: [{ role: "user", content: "hi" }] });
      const reader = response.body?.getReader();
      await reader?.read();
      const began = engine.open === 1;
      await reader?.cancel();
      return began && (await until(async () => engine.open === 0));
    });
    await check(runtime, "leaves when told to", async () => {
      child.kill();
      await Promise.race([exit, setTimeout(5000, undefined, { ref: false })]);
      return child.exitCode === 0;
    });
  } finally {
    child.kill("SIGKILL");
    await server.close();
  }
}

async function check(runtime: string, what: string, hold: () => Promise<boolean>): Promise<void> {
  const why = await hold().then(
    (holds) => (holds ? "" : "it does not"),
    (error: unknown) => String(error),
  );
  console.log(`${why === "" ? "ok    " : "FAILED"} ${runtime} ${what}${why && `: ${why}`}`);
  if (why !== "") process.exitCode = 1;
}

async function until(holds: () => Promise<boolean>): Promise<boolean> {
  for (let attempt = 0; attempt < 100; attempt++) {
    if (await holds().catch(() => false)) return true;
    await setTimeout(100);
  }
  return false;
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
