/** A byte pipe in Hono and `fetch`, as gateways are written: it parses nothing. Arguments: the engine's port, its own. */
import { serve } from "@hono/node-server";
import { Hono } from "hono";

const [enginePort = 0, ownPort = 0] = process.argv.slice(2).map(Number);
const app = new Hono();

app.all("*", async (c) => {
  const answer = await fetch(`http://127.0.0.1:${enginePort}${c.req.path}`, {
    method: c.req.method,
    headers: { "content-type": "application/json" },
    signal: c.req.raw.signal,
    ...(c.req.method === "POST" && { body: await c.req.text() }),
  });
  return new Response(answer.body, {
    status: answer.status,
    headers: { "content-type": answer.headers.get("content-type") ?? "text/plain" },
  });
});

serve({ fetch: app.fetch, port: ownPort, hostname: "127.0.0.1" });
