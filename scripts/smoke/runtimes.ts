/** Runtimes in which the packages are tried: each starts the gateway, and runs a module of a folder with the installed packages. */
import { execFile, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { promisify } from "node:util";
import { freePort } from "../../test/helpers/listen.ts";
import { toVariables } from "../../test/helpers/worker-variables.ts";
import { emptyFolder, startWorkerd } from "../../test/helpers/workerd.ts";
import { PRINTED, toPrintingWorker } from "./harmony.ts";

type Settings = Readonly<Record<string, unknown>>;

/** A gateway in a runtime. */
export interface Started {
  readonly origin: string;
  /** Ends the gateway like a supervisor. Undefined: it is not a separate process. */
  readonly leave?: () => Promise<boolean>;
  readonly end: () => unknown;
}

export interface Runtime {
  /** With its version. */
  readonly name: string;
  /** Starts the gateway. */
  readonly start: (settings: Settings) => Promise<Started>;
  /** Runs a module of the folder. @returns its output */
  readonly print: (module: string) => Promise<string>;
}

/** A program that runs JavaScript, which starts the gateway with its settings as variables. */
export function processRuntime(
  name: string,
  folder: string,
  [command = "", ...args]: readonly string[],
  entry = join(folder, "node_modules/harmony-gateway/dist/node.js"),
): Runtime {
  return {
    name,
    start: (settings) => startProcess(folder, [command, ...args, entry], settings),
    async print(module) {
      const { stdout } = await promisify(execFile)(command, [...args, module], { cwd: folder });
      return stdout;
    },
  };
}

/** Cloudflare's runtime, which gets a bundle. */
export function workerdRuntime(name: string, folder: string): Runtime {
  return workerRuntime(name, folder, async (worker, settings) => {
    const bundle = await emptyFolder();
    bundleModule(folder, worker, ["--format=esm", `--outfile=${join(bundle.folder, "worker.js")}`]);
    const started = await startWorkerd(bundle, settings);
    return {
      origin: started.origin,
      async end() {
        await started.close();
        await bundle.remove();
      },
    };
  });
}

/** A bundled edge function for Vercel, in the package that imitates Vercel's runtime. */
export function edgeRuntime(name: string, folder: string): Runtime {
  return workerRuntime(name, folder, (worker, settings) => {
    writeFileSync(
      join(folder, `edge-${worker}`),
      `import worker from "./${worker}";
addEventListener("fetch", (event) => event.respondWith(worker.fetch(event.request, ENV, event)));
`,
    );
    const bundle = join(folder, "edge-bundle.js");
    bundleModule(folder, `edge-${worker}`, [`--outfile=${bundle}`]);
    const server = join(folder, "edge-server.mjs");
    writeFileSync(server, toEdgeServer(bundle));
    return startProcess(folder, [process.execPath, server], settings);
  });
}

function toEdgeServer(bundle: string): string {
  return `import { readFileSync } from "node:fs";
import { EdgeRuntime, runServer } from "edge-runtime";
const runtime = new EdgeRuntime({
  initialCode: readFileSync(${JSON.stringify(bundle)}, "utf8"),
  extend: (context) => Object.assign(context, { ENV: { ...process.env } }),
});
await runServer({ runtime, host: "127.0.0.1", port: Number(process.env.HARMONY_GATEWAY_PORT) });
process.once("SIGTERM", () => process.exit());
`;
}

/** @param serve starts a Worker, a module of the folder */
function workerRuntime(
  name: string,
  folder: string,
  serve: (worker: string, settings: Settings) => Promise<Started>,
): Runtime {
  writeFileSync(join(folder, "printed.mjs"), PRINTED);
  writeFileSync(join(folder, "gateway.mjs"), 'export { default } from "harmony-gateway/worker";\n');
  return {
    name,
    start: (settings) => serve("gateway.mjs", settings),
    async print(module) {
      writeFileSync(join(folder, `worker-${module}`), toPrintingWorker(module));
      const { origin, end } = await serve(`worker-${module}`, {});
      try {
        return await (await fetchWhenUp(origin)).text();
      } finally {
        await end();
      }
    },
  };
}

function bundleModule(folder: string, module: string, options: readonly string[]): void {
  const esbuild = join(folder, "node_modules/.bin/esbuild");
  execFileSync(esbuild, [module, "--bundle", "--log-level=error", ...options], { cwd: folder });
}

async function startProcess(
  folder: string,
  [command = "", ...args]: readonly string[],
  settings: Settings,
): Promise<Started> {
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
}

/** Retries until the server listens, for twenty seconds. */
export async function fetchWhenUp(url: string, request: RequestInit = {}): Promise<Response> {
  for (let attempts = 1; ; attempts += 1) {
    try {
      return await fetch(url, request);
    } catch (error) {
      if (attempts === 100) throw error;
      await setTimeout(200);
    }
  }
}
