/** A store that instances of a platform share: Redis over HTTP, as Upstash offers it. In your project: from "harmony-gateway". */
import type { Store } from "../../src/index.ts";

export function createHttpRedisStore(url: string, token: string): Store {
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  async function run(...command: (string | number)[]): Promise<unknown> {
    const request = { method: "POST", headers, signal: AbortSignal.timeout(3000) };
    const response = await fetch(url, { ...request, body: JSON.stringify(command) });
    if (!response.ok) throw new Error(`Redis answered ${response.status}`);
    return Object(await response.json()).result;
  }
  return {
    timeoutMs: 3000,
    async get(key) {
      const value = await run("GET", key);
      return typeof value === "string" ? value : undefined;
    },
    async set(key, value, ttlSeconds) {
      return (await run("SET", key, value, "EX", ttlSeconds)) === "OK";
    },
    async delete(key) {
      await run("DEL", key);
    },
  };
}
