import { afterEach, expect, test } from "vitest";
import { createEngine } from "../../src/index.ts";
import { startTestGateway, type TestGateway } from "../helpers/gateway.ts";

const gateways: TestGateway[] = [];

afterEach(async () => {
  await Promise.all(gateways.splice(0).map((gateway) => gateway.close()));
});

/** The head of a streamed answer. */
async function headOf(sent: Readonly<Record<string, string>>) {
  const gateway = await startTestGateway({ engine: createEngine("demo", { model: "demo" }) });
  gateways.push(gateway);
  const response = await fetch(`${gateway.baseURL}/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-request-id": "mine", ...sent },
    body: JSON.stringify({ messages: [{ role: "user", content: "Hello!" }], stream: true }),
  });
  await response.text();
  return response.headers;
}

const OWN = {
  "cache-control": "no-cache, no-transform",
  "content-type": "text/event-stream; charset=utf-8",
  "transfer-encoding": "chunked",
  "x-accel-buffering": "no",
  "x-generation-id": expect.stringMatching(/^gen-/),
  "x-harmony-reasoning-effort": "medium",
  "x-request-id": "mine",
};
const OF_NODE = {
  connection: "keep-alive",
  date: expect.any(String),
  "keep-alive": expect.any(String),
};

test("a stream's head has the route's headers and the request's id, once each", async () => {
  expect(Object.fromEntries(await headOf({}))).toEqual({ ...OWN, ...OF_NODE });
});

test("a stream's head has the headers that middleware adds for a web page", async () => {
  const headers = Object.fromEntries(await headOf({ origin: "http://localhost:3000" }));
  expect(headers).toMatchObject({ ...OWN, "access-control-allow-origin": "http://localhost:3000" });
});
