/** Keys of people: the errors of released clients for a key that has ended, and the use that each key's owner can see. */
import { hash } from "node:crypto";
import Anthropic, { AuthenticationError as AnthropicRefusal } from "@anthropic-ai/sdk";
import OpenAI, { AuthenticationError as OpenAIRefusal } from "openai";
import { expect, test } from "vitest";
import { createBrowsingApp, MODEL } from "../helpers/browsing-app.ts";
import { readCounter } from "../helpers/counter.ts";
import { scriptedEngine } from "../helpers/scripted-engine.ts";

const ANSWER =
  "<|channel|>analysis<|message|>Hm, well.<|end|><|start|>assistant<|channel|>final<|message|>Hi.<|return|>";
const HELLO = [{ role: "user" as const, content: "Hello" }];

async function open(settings: object = {}) {
  const [ann = "", ben = "", old = ""] = ["ann", "ben", "old"].map((key) => hash("sha256", key));
  const keys = [
    { name: "ann", sha256: ann, expires: "2999-12-31" },
    { name: "ben", sha256: ben },
    { name: "old", sha256: old, expires: "2026-01-31" },
  ];
  const engine = scriptedEngine(() => ANSWER);
  const app = createBrowsingApp({ engine, toolbox: {}, settings: { keys, ...settings } });
  const options = { fetch: app.send, maxRetries: 0 };
  return {
    app,
    engine,
    openai: (apiKey: string) => new OpenAI({ baseURL: "http://localhost/v1", apiKey, ...options }),
    anthropic: (apiKey: string) =>
      new Anthropic({ baseURL: "http://localhost", apiKey, ...options }),
    metrics: async (key?: string) => {
      const headers = key === undefined ? {} : { authorization: `Bearer ${key}` };
      return (await app.send("http://localhost/metrics", { headers })).text();
    },
  };
}

test("an expired key is an error of authentication that says so, in each client", async () => {
  const { openai, anthropic, engine } = await open();
  const message =
    "The API key expired on 2026-01-31. Ask the operator of this gateway for another one.";
  const chat = openai("old").chat.completions.create({ model: MODEL, messages: HELLO });
  await expect(chat).rejects.toBeInstanceOf(OpenAIRefusal);
  await expect(chat).rejects.toMatchObject({ status: 401, error: { message } });
  const response = openai("old").responses.create({ model: MODEL, input: "Hello" });
  await expect(response).rejects.toMatchObject({ status: 401, error: { message } });
  const sent = anthropic("old").messages.create({ model: MODEL, messages: HELLO, max_tokens: 50 });
  await expect(sent).rejects.toBeInstanceOf(AnthropicRefusal);
  await expect(sent).rejects.toMatchObject({
    error: { error: { type: "authentication_error", message } },
  });
  expect(engine.requests).toHaveLength(0);
});

test("tokens are counted by key, as the replies report them", async () => {
  const { openai, anthropic, metrics } = await open({ metrics: "open" });
  const chat = await openai("ann").chat.completions.create({ model: MODEL, messages: HELLO });
  const response = await openai("ann").responses.create({ model: MODEL, input: "Hello" });
  const sent = { model: MODEL, messages: HELLO, max_tokens: 50 };
  const message = await anthropic("ben").messages.create(sent);
  const text = await metrics();
  const count = (key: string, kind: string) =>
    readCounter(text, `key_tokens_total{key="${key}",kind="${kind}"}`);
  expect(count("ann", "prompt")).toBe(
    (chat.usage?.prompt_tokens ?? 0) + (response.usage?.input_tokens ?? 0),
  );
  expect(count("ann", "completion")).toBe(
    (chat.usage?.completion_tokens ?? 0) + (response.usage?.output_tokens ?? 0),
  );
  expect(count("ann", "reasoning")).toBe(
    (chat.usage?.completion_tokens_details?.reasoning_tokens ?? 0) +
      (response.usage?.output_tokens_details.reasoning_tokens ?? 0),
  );
  expect(count("ben", "completion")).toBe(message.usage.output_tokens);
  expect(count("old", "prompt")).toBeUndefined();
});

test("a key sees its own counts only", async () => {
  const { openai, metrics } = await open({ metrics: "key" });
  for (const key of ["ann", "ben"]) {
    await openai(key).chat.completions.create({ model: MODEL, messages: HELLO });
  }
  const text = await metrics("ann");
  expect(text).toMatch(/key_tokens_total\{key="ann",kind="prompt"\} \d+/);
  expect(text).not.toContain("ben");
  expect(readCounter(text, `turns_total{model="${MODEL}",finish="stop"}`)).toBe(2);
});

test("without keys nothing is counted by key", async () => {
  const { openai, metrics } = await open({ keys: [], metrics: "open" });
  await openai("any").chat.completions.create({ model: MODEL, messages: HELLO });
  expect(await metrics()).not.toContain("key_tokens_total{");
});
