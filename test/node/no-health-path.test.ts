/** A server behind a proxy that forwards `/v1` only: its health path answers 404. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { type FakeUpstream, startFakeUpstream } from "../helpers/fake-upstream.ts";
import { startTestGateway, type TestGateway } from "../helpers/gateway.ts";
import { spelledIds } from "../helpers/spelled.ts";
import { readPrompt, toFrame, toServerInfo } from "../helpers/vllm-server.ts";

let upstream: FakeUpstream;
let gateway: TestGateway;

beforeAll(async () => {
  upstream = await startFakeUpstream((exchange) => {
    if (exchange.path === "/v1/models") return exchange.reply(200, toServerInfo(exchange.path));
    if (exchange.path !== "/v1/completions") return exchange.reply(404, "<h1>Not Found</h1>");
    const isProbe = !readPrompt(exchange.body).startsWith("<|start|>system");
    const answer = isProbe ? "<|return|>" : "<|channel|>final<|message|>Hello.<|return|>";
    exchange.begin();
    exchange.end(`${toFrame(spelledIds(answer), "stop")}data: [DONE]\n\n`);
  });
  gateway = await startTestGateway({
    settings: {
      engine: "vllm",
      url: upstream.url,
      healthIntervalMs: 20,
      metrics: "open",
    },
  });
});

afterAll(async () => {
  await gateway.close();
  await upstream.close();
});

const checks = () => upstream.exchanges.filter(({ path }) => path === "/health").length;

test("stays up while it answers requests, and the log names the path once", async () => {
  await expect.poll(checks).toBeGreaterThan(5);
  const response = await fetch(`${gateway.baseURL}/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ messages: [{ role: "user", content: "Hi" }] }),
  });
  expect([response.status, await response.json()]).toMatchObject([
    200,
    { choices: [{ message: { content: "Hello." } }] },
  ]);
  const ready = await fetch(`${gateway.origin}/ready`);
  expect([ready.status, await ready.json()]).toMatchObject([
    200,
    { models: [{ backends: [{ health: "up" }] }] },
  ]);
  expect(gateway.logged.filter(({ level }) => level === "warn")).toMatchObject([
    {
      event: "no health check",
      backend: "vllm",
      reason: `vllm at ${upstream.url} has no health check at /health (404): its health is judged by its requests.`,
    },
  ]);
});
