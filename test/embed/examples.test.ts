/** The examples of embedding that need no other package. `node scripts/smoke.ts` runs those of Express, Bun and Deno. */
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import { describe, expect, onTestFinished, test } from "vitest";
import * as z from "zod";
import cloudflare from "../../examples/embed/cloudflare.ts";
import hono from "../../examples/embed/hono.ts";
import { createHttpRedisStore } from "../../examples/embed/http-redis.ts";
import netlify from "../../examples/embed/netlify.ts";
import { OPTIONS, POST } from "../../examples/embed/next/app/api/llm/[...path]/route.ts";
import vercel from "../../examples/embed/vercel.ts";
import { listenAnywhere } from "../helpers/listen.ts";
import { createSimulatedD1 } from "../helpers/simulated-d1.ts";
import { testStoreContract } from "../helpers/store-contract.ts";

const FOLDER = join(import.meta.dirname, "../../examples/embed");

function request(path: string): Request {
  return new Request(`http://localhost${path}/v1/chat/completions`, {
    method: "POST",
    body: JSON.stringify({ messages: [{ role: "user", content: "Hello!" }] }),
  });
}

/** Whether the demo engine has answered. */
async function answered(response: Response): Promise<[status: number, isDemo: boolean]> {
  const text = await response.text();
  return [response.status, text.includes("demo engine")];
}

test("Hono", async () => {
  expect(await answered(await hono.fetch(request("/llm")))).toEqual([200, true]);
  expect(await (await hono.request("/")).text()).toBe("My application");
});

test("Next.js", async () => {
  expect(await answered(await POST(request("/api/llm")))).toEqual([200, true]);
  const preflight = new Request("http://localhost/api/llm/v1/models", { method: "OPTIONS" });
  expect((await OPTIONS(preflight)).status).toBeLessThan(500);
});

test("Cloudflare", async () => {
  const waiting: Promise<unknown>[] = [];
  const context = { waitUntil: (work: Promise<unknown>) => void waiting.push(work) };
  const env = { STORE: createSimulatedD1() };
  const response = await cloudflare.fetch(request(""), env, context);
  expect(await answered(response)).toEqual([200, true]);
  await Promise.all(waiting);
});

test("Cloudflare, with a server in a private network", async () => {
  const asked: string[] = [];
  const GPU = {
    fetch: async (input: unknown) => {
      asked.push(String(input));
      return new Response("", { status: 503 });
    },
  };
  const example = "../../examples/embed/cloudflare.ts";
  const { default: own }: { default: typeof cloudflare } = await import(`${example}?private`);
  const context = { waitUntil: () => {} };
  const response = await own.fetch(request(""), { STORE: createSimulatedD1(), GPU }, context);
  expect(response.status).toBe(503);
  expect(asked.every((url) => url.startsWith("http://vllm.internal/"))).toBe(true);
  expect(asked.length).toBeGreaterThan(0);
});

test("Netlify", async () => {
  expect(await answered(await netlify(request("/llm")))).toEqual([200, true]);
});

test("Vercel", async () => {
  expect(await answered(await vercel.fetch(request("")))).toEqual([200, true]);
});

describe("Redis over HTTP", () => {
  testStoreContract({
    async open() {
      const entries = new Map<string, unknown>();
      const server = createServer((incoming, response) => {
        void (async () => {
          const [command, key, value] = z.array(z.unknown()).parse(await json(incoming));
          const isAllowed = incoming.headers.authorization === "Bearer secret";
          const commands: Record<string, () => unknown> = {
            GET: () => entries.get(String(key)) ?? null,
            SET: () => (entries.set(String(key), value), "OK"),
            DEL: () => Number(entries.delete(String(key))),
          };
          response.statusCode = isAllowed ? 200 : 401;
          response.end(JSON.stringify({ result: commands[String(command)]?.() }));
        })();
      });
      const port = await listenAnywhere(server);
      onTestFinished(() => {
        server.closeAllConnections();
        server.close();
      });
      return createHttpRedisStore(`http://127.0.0.1:${port}`, "secret");
    },
  });
});

test("Node's own server", async () => {
  process.env["PORT"] = "0";
  const { server } = await import("../../examples/embed/node.ts");
  delete process.env["PORT"];
  if (!server.listening) await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  const { url, method, body } = new Request(request(""));
  const target = new URL(new URL(url).pathname, `http://127.0.0.1:${port}`);
  expect(await answered(await fetch(target, { method, body, duplex: "half" }))).toEqual([
    200,
    true,
  ]);
  server.close();
  server.closeAllConnections();
});

test("each has at most 25 lines", () => {
  const files = readdirSync(FOLDER, { recursive: true, encoding: "utf8" });
  const sources = files.filter((file) => /\.(ts|mjs)$/.test(file));
  expect(sources.length).toBe(10);
  for (const file of sources) {
    const lines = readFileSync(join(FOLDER, file), "utf8").trimEnd().split("\n");
    expect([file, lines.length <= 25]).toEqual([file, true]);
  }
});
