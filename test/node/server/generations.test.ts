import { createHash } from "node:crypto";
import { afterEach, expect, test } from "vitest";
import { type FakeExchange, startFakeUpstream } from "../../helpers/fake-upstream.ts";
import { eventually } from "../../helpers/eventually.ts";
import { startTestGateway, type TestGateway } from "../../helpers/gateway.ts";
import { spelledIds } from "../../helpers/spelled.ts";
import { readPrompt, toFrame } from "../../helpers/vllm-server.ts";

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

/** A vLLM without a health path or a version that offers these models, and none while the list is empty. */
async function startVllm(models: string[]) {
  const upstream = await startFakeUpstream((exchange) => answer(exchange, models));
  closers.push(() => upstream.close());
  return upstream.url;
}

function answer(exchange: FakeExchange, models: readonly string[]): void {
  if (exchange.path === "/v1/models") {
    if (models.length === 0)
      return exchange.reply(503, JSON.stringify({ error: { message: "loading" } }));
    const data = models.map((id) => ({ id, owned_by: "vllm", max_model_len: 131_072 }));
    return exchange.reply(200, JSON.stringify({ object: "list", data }));
  }
  if (exchange.path !== "/v1/completions")
    return exchange.reply(404, JSON.stringify({ detail: "Not Found" }));
  const isProbe = !readPrompt(exchange.body).startsWith("<|start|>system");
  const ids = spelledIds(isProbe ? "<|return|>" : "<|channel|>final<|message|>Hi<|return|>");
  exchange.begin();
  exchange.end(`${toFrame(ids, null)}${toFrame([], "stop")}data: [DONE]\n\n`);
}

async function start(settings: object): Promise<TestGateway> {
  const gateway = await startTestGateway({ settings });
  closers.push(() => gateway.close());
  return gateway;
}

async function served({ baseURL }: TestGateway): Promise<string[]> {
  const { data } = JSON.parse(await (await fetch(`${baseURL}/models`)).text());
  return data.map(({ id }: { id: string }) => id);
}

async function ask({ baseURL }: TestGateway, model: string) {
  const body = JSON.stringify({ model, messages: [{ role: "user", content: "Hello!" }] });
  const response = await fetch(`${baseURL}/chat/completions`, { method: "POST", body });
  const { choices } = JSON.parse(await response.text());
  return [response.status, choices?.[0].message.content];
}

test("a URL alone serves the model that is there, and the README's name finds it", async () => {
  const gateway = await start({ url: await startVllm(["openai/gpt-oss-120b"]) });
  await eventually(async () => expect(await served(gateway)).toEqual(["openai/gpt-oss-120b"]));
  for (const name of ["openai/gpt-oss-20b", "gpt-oss-120b"]) {
    expect(await ask(gateway, name)).toEqual([200, "Hi"]);
  }
});

test("each gpt-oss of several models is served under its own name", async () => {
  const gateway = await start({ url: await startVllm(["llama3", "gpt-oss-a", "gpt-oss-b"]) });
  await eventually(async () => expect(await served(gateway)).toEqual(["gpt-oss-a", "gpt-oss-b"]));
  expect(await ask(gateway, "gpt-oss-b")).toEqual([200, "Hi"]);
});

test("a server that is up later than the gateway is served under its own name then", async () => {
  const models: string[] = [];
  const gateway = await start({ url: await startVllm(models) });
  models.push("gpt-oss-late");
  await eventually(async () => expect(await served(gateway)).toEqual(["gpt-oss-late"]));
  expect(await ask(gateway, "gpt-oss-late")).toEqual([200, "Hi"]);
  await eventually(() => {
    const ready = gateway.logged.filter(({ event }) => event === "engine ready");
    expect(ready.map(({ model }) => model)).toEqual(["gpt-oss-late"]);
  });
  expect(gateway.logged.find(({ event }) => event === "models found")).toMatchObject({
    backends: [{ model: "gpt-oss-late" }],
  });
});

test("settings that are read again while the server is down keep the model's name", async () => {
  const models = ["gpt-oss-120b"];
  const url = await startVllm(models);
  const gateway = await start({ url });
  await eventually(async () => expect(await served(gateway)).toEqual(["gpt-oss-120b"]));
  models.splice(0);
  await gateway.reload({ url, connectTimeoutMs: 100 });
  expect(await served(gateway)).toEqual(["gpt-oss-120b"]);
});

test("models that are found while settings are read again do not displace those settings", async () => {
  const held: FakeExchange[] = [];
  let isUp = false;
  const upstream = await startFakeUpstream((exchange) => {
    if (isUp) answer(exchange, ["gpt-oss-late"]);
    else held.push(exchange);
  });
  closers.push(() => upstream.close());
  const keyOf = (name: string) => `${name}:${createHash("sha256").update(name).digest("hex")}`;
  const settings = { url: upstream.url, connectTimeoutMs: 1_000_000 };
  const gateway = await start({ ...settings, keys: [keyOf("old"), keyOf("kept")] });
  const statusOf = async (key: string) => {
    const headers = { authorization: `Bearer ${key}` };
    return (await fetch(`${gateway.baseURL}/models`, { headers })).status;
  };
  expect(await statusOf("old")).toBe(200);
  // The start, the probe of the default model, and the later search for models have asked.
  await eventually(() => expect(held).toHaveLength(3));
  const reloaded = gateway.reload({ ...settings, keys: [keyOf("kept")] });
  // The reload asks the server as well, and waits. Then the server answers everybody at once.
  await eventually(() => expect(held).toHaveLength(4));
  isUp = true;
  for (const exchange of held.splice(0)) answer(exchange, ["gpt-oss-late"]);
  await reloaded;
  await eventually(async () => expect(await statusOf("old")).toBe(401));
  expect(await statusOf("kept")).toBe(200);
  expect(gateway.logged.find(({ event }) => event === "settings read again")).toMatchObject({
    keys: 1,
  });
});

test("a server without a gpt-oss is named with its models", async () => {
  const url = await startVllm(["llama3", "qwen"]);
  const gateway = await start({ url });
  await eventually(() =>
    expect(gateway.logged.find(({ event }) => event === "engine unavailable")).toMatchObject({
      reason: `vllm at ${url} offers no model named gpt-oss, but "llama3", "qwen". Name the one to serve with --model.`,
    }),
  );
});

test("presets of models that the server offers are served, and the log names the others", async () => {
  const presets = { review: { model: "gpt-oss-a" }, draft: { model: "gpt-oss-b" } };
  const gateway = await start({ url: await startVllm(["gpt-oss-a"]), presets });
  expect(await served(gateway)).toEqual(["gpt-oss-a", "review"]);
  expect(await ask(gateway, "review")).toEqual([200, "Hi"]);
  await eventually(() =>
    expect(gateway.logged.find(({ event }) => event === "warning")).toMatchObject({
      message: "presets.draft is left out: no server offers its model gpt-oss-b.",
    }),
  );
});

test("behind a proxy, the start and the page show the public address", async () => {
  const gateway = await start({ publicUrl: "https://llm.example.com/team/", inspect: true });
  const { baseUrl, inspect } = gateway.logged.find(({ event }) => event === "start") ?? {};
  expect(baseUrl).toBe("https://llm.example.com/team/v1");
  expect(inspect).toMatch(/^https:\/\/llm\.example\.com\/team\/inspect#token=/);
  const page = await fetch(gateway.origin, { headers: { accept: "text/html" } });
  const text = await page.text();
  expect(text).toContain('data-origin="https://llm.example.com/team"');
  expect(text).not.toContain(gateway.origin);
});
