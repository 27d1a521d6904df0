/** A real Redis, Debian's `redis-server`, on a free port and without files. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { Redis } from "ioredis";
import { freePort } from "./listen.ts";

/** Tests that need Redis are skipped if it is missing: `describe.skipIf(!HAS_REDIS)`. */
export const HAS_REDIS = spawnSync("redis-server", ["--version"]).status === 0;

export interface TestRedis {
  readonly url: string;
  /** Kills the process, like a crash. Its data is lost. */
  kill(): Promise<void>;
  /** Restarts the process, on the same port. */
  start(): Promise<void>;
  /** Stops answering but keeps its connections, until thawed. */
  freeze(): void;
  thaw(): void;
  /** 0: no limit. */
  limitMemory(bytes: number): Promise<void>;
  /** Milliseconds until each key expires. */
  ttls(): Promise<Record<string, number>>;
}

export async function startRedis(): Promise<TestRedis> {
  const port = await freePort();
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
    freeze: () => void child?.kill("SIGSTOP"),
    thaw: () => void child?.kill("SIGCONT"),
    limitMemory: (bytes) =>
      withClient(async (client) => void (await client.config("SET", "maxmemory", String(bytes)))),
    async kill() {
      if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
      const ended = once(child, "exit");
      // A frozen process must be killed.
      child.kill("SIGKILL");
      await ended;
    },
    ttls: () =>
      withClient(async (client) => {
        const keys = await client.keys("*");
        const ttls = await Promise.all(keys.map(async (key) => [key, await client.pttl(key)]));
        return Object.fromEntries(ttls);
      }),
  };
}
