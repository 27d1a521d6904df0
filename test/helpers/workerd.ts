/**
 * The deployed bundle in the bare Workers runtime. Wrangler's harness (`worker.ts`) has KV and logs, but is placed
 * between the Worker and the network: it does not pass on that an engine's connection was closed, and its processes
 * distort measurements.
 */
import { execFile, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { z } from "zod";
import { toVariables } from "./worker-variables.ts";

const ROOT = join(import.meta.dirname, "../..");

/** The package has no types; it exports the path of its program. */
const { default: PROGRAM } = z
  .object({ default: z.string() })
  .parse(createRequire(import.meta.url)("workerd"));

export interface Bundle {
  /** Holds `worker.js`. */
  readonly folder: string;
  remove(): Promise<void>;
}

export interface Workerd {
  readonly pid: number;
  /** `http://127.0.0.1:<port>` */
  readonly origin: string;
  /** Address of the debugger, `127.0.0.1:<port>`. */
  readonly inspector: string;
  /** The Worker's console output so far, oldest first. */
  readonly lines: readonly string[];
  close(): Promise<void>;
}

/** The file with the compatibility settings of `wrangler.toml`, read at each start. */
const COMPATIBILITY = "compatibility.json";
const compatibility = z.object({
  compatibility_date: z.string(),
  compatibility_flags: z.array(z.string()),
});

/** A folder for a `worker.js` that is still to be written. */
export async function emptyFolder(): Promise<Bundle> {
  const folder = await mkdtemp(join(tmpdir(), "harmony-gateway-worker-"));
  // Imported here, once, and not by every test file: it takes a second.
  const { unstable_readConfig: readConfig } = await import("wrangler");
  const config = readConfig({ config: join(ROOT, "wrangler.toml") });
  await writeFile(join(folder, COMPATIBILITY), JSON.stringify(compatibility.parse(config)));
  return { folder, remove: () => rm(folder, { recursive: true }) };
}

/** The bundle that `wrangler deploy` would upload. */
export async function bundleWorker(): Promise<Bundle> {
  const bundle = await emptyFolder();
  const wrangler = join(ROOT, "node_modules/wrangler/bin/wrangler.js");
  await promisify(execFile)(
    process.execPath,
    [wrangler, "deploy", "--dry-run", "--outdir", bundle.folder],
    {
      cwd: ROOT,
      env: { ...process.env, WRANGLER_SEND_METRICS: "false" },
    },
  );
  return bundle;
}

/**
 * @param settings those in `wrangler.toml` do not apply; there is no KV, so the store is memory.
 * @param port 0: any free one.
 */
export async function startWorkerd(
  { folder }: Pick<Bundle, "folder">,
  settings: Readonly<Record<string, unknown>> = {},
  port = 0,
): Promise<Workerd> {
  // Beside the bundle, because it can name files only from its own place.
  const config = join(folder, `${randomUUID()}.capnp`);
  const text = await readFile(join(folder, COMPATIBILITY), "utf8");
  const runtime = compatibility.parse(JSON.parse(text));
  await writeFile(config, toConfig(toVariables(settings), port, runtime));
  const args = ["serve", config, "--control-fd=3", "--inspector-addr=127.0.0.1:0"];
  const child = spawn(PROGRAM, args, { stdio: ["ignore", "pipe", "inherit", "pipe"] });
  const end = () => child.kill("SIGKILL");
  process.once("exit", end);
  const lines: string[] = [];
  if (child.stdout) createInterface(child.stdout).on("line", (line) => lines.push(line));
  const ports = new Map<string, number>();
  let said = "";
  await new Promise<void>((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (code) => reject(new Error(`workerd ended with ${code}`)));
    child.stdio[3]?.on("data", (data) => {
      said += data;
      for (const [, name = "", at] of said.matchAll(LISTENING)) ports.set(name, Number(at));
      if (ports.size === 2) resolve();
    });
  });
  return {
    pid: child.pid ?? 0,
    origin: `http://127.0.0.1:${ports.get('"listen","socket":"http"')}`,
    inspector: `127.0.0.1:${ports.get('"listen-inspector"')}`,
    lines,
    async close() {
      const exit = once(child, "exit");
      process.off("exit", end);
      end();
      await exit;
    },
  };
}

/** `{"event":"listen","socket":"http","port":1234}`, `{"event":"listen-inspector","port":1235}` */
const LISTENING = /"event":("listen","socket":"http"|"listen-inspector"),"port":(\d+)/g;

function toConfig(
  variables: Readonly<Record<string, string>>,
  port: number,
  { compatibility_date, compatibility_flags }: z.infer<typeof compatibility>,
): string {
  const bindings = Object.entries(variables).map(([name, value]) => {
    return `(name = ${JSON.stringify(name)}, text = ${JSON.stringify(value)})`;
  });
  return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = .main),
    (name = "internet", network = (allow = ["public", "private"])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "main")],
);
const main :Workerd.Worker = (
  modules = [(name = "worker.js", esModule = embed "worker.js")],
  compatibilityDate = ${JSON.stringify(compatibility_date)},
  compatibilityFlags = ${JSON.stringify(compatibility_flags)},
  bindings = [${bindings.join(", ")}],
);
`;
}
