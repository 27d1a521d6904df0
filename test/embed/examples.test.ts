/** The examples of embedding that need no other package. `npm run smoke` runs those of Express, Bun and Deno. */
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import cloudflare from "../../examples/embed/cloudflare.ts";
import hono from "../../examples/embed/hono.ts";
import { OPTIONS, POST } from "../../examples/embed/next/app/api/llm/[...path]/route.ts";
import { createSimulatedKv } from "../helpers/simulated-kv.ts";

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
  const env = { STORE: createSimulatedKv().at("here") };
  const response = await cloudflare.fetch(request(""), env, context);
  expect(await answered(response)).toEqual([200, true]);
  await Promise.all(waiting);
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
  expect(sources.length).toBe(7);
  for (const file of sources) {
    const lines = readFileSync(join(FOLDER, file), "utf8").trimEnd().split("\n");
    expect([file, lines.length <= 25]).toEqual([file, true]);
  }
});
