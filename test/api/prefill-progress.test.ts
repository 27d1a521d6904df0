/** Clients of each API see the progress of an engine with a long prompt. */
import { describe, expect, onTestFinished, test } from "vitest";
import type { Engine } from "../../src/index.ts";
import { startTestGateway } from "../helpers/gateway.ts";
import { createBrowsingApp } from "../helpers/browsing-app.ts";
import { createRecordedApp } from "../helpers/recorded-app.ts";
import { scriptedEngine } from "../helpers/scripted-engine.ts";
import { spelledIds } from "../helpers/spelled.ts";
import { CLIENTS, MODEL } from "../never-silently-wrong/clients.ts";

const ANSWER = "<|channel|>final<|message|>Hi.<|return|>";
const PROGRESS = [
  { total: 48_000, cached: 4096, processed: 12_288, elapsedMs: 900 },
  { total: 48_000, cached: 4096, processed: 48_000, elapsedMs: 4000 },
];
const WIRE = [
  { total: 48_000, cache: 4096, processed: 12_288, time_ms: 900 },
  { total: 48_000, cache: 4096, processed: 48_000, time_ms: 4000 },
];
const HELLO = [{ role: "user" as const, content: "Hello" }];

const engineWithProgress = () => scriptedEngine(() => ANSWER, { progress: PROGRESS });

/** An engine that reports a quarter of its prompt, and goes on when it is allowed to. */
function waitingEngine(): { engine: Engine; goOn: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  const inner = scriptedEngine([]);
  const engine: Engine = {
    ...inner,
    async *complete() {
      yield { type: "open" };
      yield { type: "progress", total: 48, cached: 0, processed: 12, elapsedMs: 5 };
      await promise;
      yield { type: "ids", ids: spelledIds(ANSWER) };
      yield { type: "finish", reason: "stop", nativeReason: "stop" };
    },
  };
  return { engine, goOn: resolve };
}

describe("on request", () => {
  test("openai gets chunks without choices, as from llama-server, and the same answer", async () => {
    const { client } = createBrowsingApp({ engine: engineWithProgress() });
    const body = { model: MODEL, messages: HELLO, stream: true as const, return_progress: true };
    const progress: unknown[] = [];
    let text = "";
    for await (const chunk of await client.chat.completions.create(body)) {
      if ("prompt_progress" in chunk) progress.push({ ...chunk });
      text += chunk.choices[0]?.delta.content ?? "";
    }
    expect(progress).toEqual(
      WIRE.map((each) =>
        expect.objectContaining({
          object: "chat.completion.chunk",
          choices: [],
          prompt_progress: each,
        }),
      ),
    );
    expect(text).toBe("Hi.");
  });

  test("Anthropic's SDK gets pings, and the same message", async () => {
    const { anthropic, post } = createBrowsingApp({ engine: engineWithProgress() });
    const body = { model: MODEL, messages: HELLO, max_tokens: 100, return_progress: true };
    const message = await anthropic.messages.stream(body).finalMessage();
    expect(message.content).toMatchObject([{ type: "text", text: "Hi." }]);
    const response = await post("/v1/messages", { ...body, stream: true });
    const pings = [...(await response.text()).matchAll(/^event: ping\ndata: (.*)$/gm)];
    expect(pings.map(([, data = ""]) => JSON.parse(data))).toEqual(
      WIRE.map((each) => ({ type: "ping", prompt_progress: each })),
    );
  });
});

test.each(CLIENTS)("$name: nobody who has not asked gets anything new", async (client) => {
  const { post } = createBrowsingApp({ engine: engineWithProgress() });
  const body = client.toBody([{ type: "user", text: "Hello" }]);
  const response = await post(client.path, { ...body, stream: true });
  expect(await response.text()).not.toMatch(/progress":|ping/);
});

test.each([
  { name: "Chat Completions", path: "/chat/completions", body: { messages: HELLO } },
  { name: "Responses", path: "/responses", body: { input: "Hello" } },
])("$name: keep-alives say how far the prompt is, until the answer begins", async (example) => {
  const { engine, goOn } = waitingEngine();
  const gateway = await startTestGateway({ engine, settings: { keepAliveMs: 5 } });
  onTestFinished(() => gateway.close());
  const response = await fetch(gateway.baseURL + example.path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ model: MODEL, stream: true, ...example.body }),
  });
  const decoder = new TextDecoder();
  let seen = "";
  for await (const bytes of response.body ?? []) {
    seen += decoder.decode(bytes, { stream: true });
    if (/^: prompt 12\/48$/m.test(seen)) goOn();
  }
  expect(seen).toMatch(/^: prompt 12\/48$/m);
  expect(seen).toContain("Hi");
  expect(seen.slice(seen.indexOf('"Hi'))).not.toContain(": prompt");
});

test("the record of a call has the latest progress", async () => {
  const app = createRecordedApp({ engine: engineWithProgress() });
  await app.post("/v1/chat/completions", { model: MODEL, messages: HELLO });
  const [record] = await app.records();
  expect(record?.calls[0]?.prefill).toEqual(PROGRESS[1]);
});

test("a plain reply has nothing of it", async () => {
  const { client, anthropic } = createBrowsingApp({ engine: engineWithProgress() });
  const completion = await client.chat.completions.create({ model: MODEL, messages: HELLO });
  expect(completion).not.toHaveProperty("prompt_progress");
  const message = await anthropic.messages.create({
    model: MODEL,
    messages: HELLO,
    max_tokens: 100,
  });
  expect(message).not.toHaveProperty("prompt_progress");
});
