/** The gateway in a separate process, started like an operator's, with its health monitored. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import * as z from "zod";
import { messageSchema, type Sample } from "./sample.ts";

const ENTRY = join(import.meta.dirname, "../../src/node.ts");
const SAMPLER = new URL("sampler.ts", import.meta.url).href;

export interface ChaosGateway {
  /** `http://127.0.0.1:<port>` */
  readonly origin: string;
  readonly port: number;
  /** Longest response time of `/health` so far; Infinity if it did not answer. */
  readonly slowestHealthMs: number;
  /** Longest CPU time between two iterations of its event loop. */
  readonly longestHoldMs: number;
  /** Requests at engines, and queued ones. */
  occupied(): Promise<Occupied>;
  sample(): Promise<Sample>;
  /** Sets its clock ahead, or back. */
  jump(ms: number): void;
  /** Sends SIGTERM. Returns the milliseconds until the process has exited. */
  terminate(): Promise<number>;
  /** Kills it, if it runs. */
  kill(): Promise<void>;
}

export interface Occupied {
  readonly inFlight: number;
  readonly queued: number;
  readonly turns: number;
  readonly up: number;
}

const PATIENCE_MS = 60_000;

/** `key` is one of the settings' keys, to read the metrics with. */
export async function startChaosGateway(
  settings: Readonly<Record<string, unknown>>,
  key: string,
): Promise<ChaosGateway> {
  const folder = mkdtempSync(join(tmpdir(), "gateway-chaos-"));
  const config = join(folder, "config.json");
  writeFileSync(config, JSON.stringify({ port: 0, ...settings }));
  const child = spawn(
    process.execPath,
    ["--expose-gc", "--import", SAMPLER, ENTRY, "--config", config],
    { env: ownEnvironment(), stdio: ["ignore", "pipe", "pipe", "ipc"] },
  );
  const ended = new Promise<void>((resolve) => {
    child.once("close", () => resolve());
  });
  const endChild = () => child.kill("SIGKILL");
  process.once("exit", endChild);
  void ended.then(() => process.off("exit", endChild));
  let port: number;
  try {
    port = await portOf(child);
  } finally {
    rmSync(folder, { recursive: true });
  }
  const origin = `http://127.0.0.1:${port}`;
  const watch = watchHealth(origin);
  let longestHoldMs = 0;
  const samples: ((sample: Sample) => void)[] = [];
  child.on("message", (text) => {
    const message = messageSchema.parse(text);
    switch (message.type) {
      case "hold":
        longestHoldMs = message.ms;
        break;
      case "sample":
        samples.shift()?.(message.sample);
        break;
      default:
        message satisfies never;
    }
  });
  child.send("watch");

  return {
    origin,
    port,
    get slowestHealthMs() {
      return watch.slowestMs;
    },
    get longestHoldMs() {
      return longestHoldMs;
    },
    occupied: () => readOccupied(origin, key),
    sample: () =>
      new Promise((resolve) => {
        samples.push(resolve);
        child.send("sample");
      }),
    jump: (ms) => void child.send(ms),
    async terminate() {
      watch.stop();
      const started = performance.now();
      child.kill("SIGTERM");
      await ended;
      return performance.now() - started;
    },
    async kill() {
      watch.stop();
      child.kill("SIGKILL");
      await ended;
    },
  };
}

function ownEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !name.startsWith("HARMONY_GATEWAY_")),
  );
}

function portOf(child: ChildProcess): Promise<number> {
  let out = "";
  let complaints = "";
  child.stderr?.on("data", (data) => (complaints = `${complaints}${data}`.slice(-4000)));
  return new Promise((resolve, reject) => {
    child.stdout?.on("data", (data) => {
      out = `${out}${data}`.slice(-4000);
      const port = /"baseUrl":"http:\/\/\S+?:(\d+)\//.exec(out)?.[1];
      if (port !== undefined) resolve(Number(port));
    });
    child.once("close", () => reject(new Error(`the gateway did not start: ${complaints}`)));
  });
}

/** Watches in another thread, so that this thread's work does not count as the gateway's. */
function watchHealth(origin: string) {
  const slowest = new SharedArrayBuffer(8);
  const slowestMs = new Float64Array(slowest);
  const worker = new Worker(new URL("health-watch.ts", import.meta.url), {
    workerData: { origin, slowest },
  });
  let atEnd: number | undefined;
  return {
    get slowestMs() {
      return atEnd ?? slowestMs[0] ?? 0;
    },
    /** Later messages are not counted. */
    stop() {
      atEnd ??= slowestMs[0] ?? 0;
      void worker.terminate();
    },
  };
}

const readiness = z.object({
  models: z.array(
    z.object({
      queued: z.number(),
      backends: z.array(z.looseObject({ health: z.string() })),
    }),
  ),
});

async function readOccupied(origin: string, key: string): Promise<Occupied> {
  const patience = () => ({
    signal: AbortSignal.timeout(PATIENCE_MS),
    headers: { authorization: `Bearer ${key}` },
  });
  const ready = await (await fetch(`${origin}/ready`, patience())).json();
  const metrics = await (await fetch(`${origin}/metrics`, patience())).text();
  const { models } = readiness.parse(ready);
  const backends = models.flatMap((model) => model.backends);
  const inFlight = backends.map((each) => Number(each["in_flight"]));
  const turns = /^harmony_gateway_turns_in_flight (\d+)$/m.exec(metrics)?.[1];
  return {
    inFlight: inFlight.reduce((sum, each) => sum + each, 0),
    queued: models.reduce((sum, { queued }) => sum + queued, 0),
    turns: Number(turns),
    up: backends.filter(({ health }) => health === "up").length,
  };
}
