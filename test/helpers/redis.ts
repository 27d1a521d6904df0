/** A real Redis, Debian's `redis-server`, on a free port and without files. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { createServer } from "node:http";
import { Redis } from "ioredis";
import { listenAnywhere } from "./listen.ts";

/** Tests that need it are skipped where it is missing: `describe.skipIf(!HAS_REDIS)`. */
export const HAS_REDIS = spawnSync("redis-server", ["--version"]).status === 0;

export interface TestRedis {
  readonly url: string;
  /** Ends the process at once, as a crash does. What it held is gone. */
  kill(): Promise<void>;
  /** Starts it again, on the same port. */
  start(): Promise<void>;
  /** Milliseconds until a key's time is over, for each key. */
  ttls(): Promise<Record<string, number>>;
}

export async function startRedis(): Promise<TestRedis> {
  const server = createServer();
  const port = await listenAnywhere(server);
  await new Promise((resolve) => {
    server.close(resolve);
  });
  const url = `redis://127.0.0.1:${port}`;
  let child: ChildProcess | undefined;

  async function start(): Promise<void> {
    const args = [
      "--port",
      String(port),
      "--bind",
      "127.0.0.1",
      "--save",
      "",
      "--appendonly",
      "no",
    ];
    child = spawn("redis-server", args, { stdio: "ignore" });
    await withClient((client) => client.ping());
  }

  async function withClient<T>(ask: (client: Redis) => Promise<T>): Promise<T> {
    const client = new Redis(url, { retryStrategy: () => 50, maxRetriesPerRequest: 100 });
    client.on("error", () => {});
    try {
      return await ask(client);
    } finally {
      client.disconnect();
    }
  }

  await start();
  return {
    url,
    start,
    kill: () =>
      new Promise((resolve) => {
        if (child === undefined || child.exitCode !== null || child.signalCode !== null) resolve();
        child?.once("exit", () => resolve());
        child?.kill("SIGKILL");
      }),
    ttls: () =>
      withClient(async (client) => {
        const keys = await client.keys("*");
        const ttls = await Promise.all(keys.map(async (key) => [key, await client.pttl(key)]));
        return Object.fromEntries(ttls);
      }),
  };
}
