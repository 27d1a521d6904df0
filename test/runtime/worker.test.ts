import { afterAll, beforeAll, expect, test } from "vitest";
import { createTestHarness } from "wrangler";
import { testRequests } from "./requests.ts";

// The real bundle, with the settings of wrangler.toml, in the real runtime.
const server = createTestHarness({ workers: [{ configPath: "./wrangler.toml" }] });

beforeAll(() => server.listen(), 60_000);
afterAll(() => server.close());

testRequests(async (path, sent) => {
  const response = await server.fetch(path, sent);
  // The harness's responses are another library's: made the platform's own here.
  return new Response(await response.arrayBuffer(), {
    status: response.status,
    headers: [...response.headers],
  });
});

test("a client that leaves a stream does no harm", async () => {
  const response = await server.fetch("/v1/chat/completions", {
    method: "POST",
    body: JSON.stringify({ messages: [{ role: "user", content: "Hello!" }], stream: true }),
  });
  await response.body?.cancel();
  expect((await server.fetch("/health")).status).toBe(200);
});
