import { createServer, type IncomingMessage } from "node:http";
import { json, text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { createGateway } from "../../src/index.ts";
import { toNodeHandler } from "../../src/node/index.ts";
import { listenAnywhere } from "../helpers/listen.ts";
import { scriptedEngine } from "../helpers/scripted-engine.ts";

const HELLO = JSON.stringify({
  model: "openai/gpt-oss-20b",
  max_tokens: 100,
  messages: [{ role: "user", content: "Hello!" }],
});
const READ =
  "Something in front of the gateway has read the request's body. Mount the gateway before express.json() and whatever else parses bodies.";

/** @param before a handler that gets the request first. */
async function serve(before: (request: IncomingMessage) => Promise<unknown>): Promise<string> {
  const engine = scriptedEngine(() => "<|channel|>final<|message|>Fine.<|return|>");
  const handle = toNodeHandler(createGateway({ engine }));
  const server = createServer((request, response) => {
    void before(request).then(() => handle(request, response));
  });
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${await listenAnywhere(server)}`;
}

const PATHS = ["/v1/chat/completions", "/v1/responses", "/v1/messages"];

test.each(PATHS)("%s behind a parser of bodies says where to mount the gateway", async (path) => {
  const url = await serve((request) => text(request));
  for (const body of [HELLO, HELLO + " ".repeat(200_000)]) {
    const response = await fetch(url + path, { method: "POST", body });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { message: READ } });
  }
  expect((await fetch(`${url}/v1/models`)).status).toBe(200);
});

test("a body that was kept beside the request is read", async () => {
  const url = await serve(async (request) => {
    const rawBody = Buffer.from(JSON.stringify(await json(request)));
    Object.assign(request, { rawBody });
  });
  const response = await fetch(`${url}/v1/chat/completions`, { method: "POST", body: HELLO });
  expect([response.status, await response.text()]).toEqual([200, expect.stringContaining("Fine.")]);
});

test("a request whose body a handler has read gets the same sentence", async () => {
  const gateway = createGateway({ engine: "demo" });
  const request = new Request("http://localhost/v1/chat/completions", {
    method: "POST",
    body: HELLO,
  });
  await request.text();
  const response = await gateway.fetch(request);
  expect([response.status, await response.json()]).toEqual([
    400,
    expect.objectContaining({ error: expect.objectContaining({ message: READ }) }),
  ]);
});
