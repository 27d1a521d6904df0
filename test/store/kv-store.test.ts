import { createKvStore, type KvNamespace } from "../../src/index.ts";
import { join } from "node:path";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { createTestHarness } from "wrangler";
import { isKvNamespace } from "../../src/store/kv-store.ts";
import { testStoreContract } from "../helpers/store-contract.ts";
import { type ChatMessage, readChatMessage } from "../helpers/replies.ts";

// The real bundle in the real runtime, with a KV namespace bound and a key to seal with.
const server = createTestHarness({
  workers: [
    {
      config: {
        name: "kv-test",
        main: join(inject("workerBundle"), "worker.js"),
        no_bundle: true,
        compatibility_date: "2026-10-01",
        kv_namespaces: [{ binding: "KEPT", id: "kept" }],
        vars: {
          HARMONY_GATEWAY_STORE: "kv:KEPT",
          HARMONY_GATEWAY_REASONING_POLICY: "sealed",
          HARMONY_GATEWAY_SEALING_KEYS: Buffer.alloc(32, "k").toString("base64url"),
        },
      },
    },
  ],
});
let namespace: KvNamespace;

beforeAll(async () => {
  await server.listen();
  // The first request derives the keys, which others use.
  await server.fetch("/health");
  const { KEPT } = await server.getWorker<Record<string, unknown>>().getEnv();
  if (!isKvNamespace(KEPT))
    throw new Error("the binding of Workers is not recognized as a KV namespace");
  namespace = KEPT;
}, 60_000);
afterAll(() => server.close());

testStoreContract({ open: () => createKvStore(namespace) });

test.each([
  [3600, 3600],
  // KV refuses less than a minute.
  [5, 60],
])("an entry for %i seconds expires after %i", async (ttl, expected) => {
  const asked: unknown[] = [];
  const store = createKvStore({
    get: namespace.get.bind(namespace),
    put: (key, value, options) => {
      asked.push(options?.expirationTtl);
      return namespace.put(key, value, options);
    },
    delete: (key) => namespace.delete(key),
  });
  await store.set("timed", "x", ttl, "alice");
  expect(asked).toEqual([expected]);
  expect(await store.get("timed")).toBe("x");
});

test.each([undefined, null, "STORE", {}, { get: () => {} }])("%j is no namespace", (value) => {
  expect(isKvNamespace(value)).toBe(false);
});

test.each<[string, (message: ChatMessage) => object, string]>([
  ["a client that sends back what it cannot read", (message) => message, "sealed"],
  [
    "a client that forgets it",
    ({ tool_calls }) => ({ role: "assistant", content: null, tool_calls }),
    "stored",
  ],
])("a Worker gives the reasoning of a tool loop back to %s", async (_, remember, outcome) => {
  const messages: object[] = [{ role: "user", content: "What is the weather in Oslo?" }];
  const parameters = { type: "object", properties: { city: { type: "string" } } };
  const ask = () =>
    server.fetch("/v1/chat/completions", {
      method: "POST",
      body: JSON.stringify({
        messages,
        tools: [{ type: "function", function: { name: "get_weather", parameters } }],
      }),
    });
  const message = await readChatMessage(await ask());
  messages.push(remember(message));
  for (const { id } of message.tool_calls ?? []) {
    messages.push({ role: "tool", tool_call_id: id, content: "4 °C" });
  }
  expect((await ask()).headers.get("x-harmony-cot")).toBe(outcome);
});
