import { afterEach, describe, expect, test } from "vitest";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import { WebSocket } from "ws";
import { createEngine } from "../../../src/index.ts";
import {
  startTestGateway,
  type TestGateway,
  type TestGatewayOptions,
} from "../../helpers/gateway.ts";
import { type FakeExchange, startFakeUpstream } from "../../helpers/fake-upstream.ts";
import { spelledIds } from "../../helpers/spelled.ts";
import { readPrompt, toFrame } from "../../helpers/vllm-server.ts";
import { listenAnywhere } from "../../helpers/listen.ts";

const gateways: TestGateway[] = [];
const closing: (() => Promise<void>)[] = [];

async function freePort(): Promise<number> {
  const server = createServer();
  const port = await listenAnywhere(server);
  server.close();
  await once(server, "close");
  return port;
}

async function start(options: TestGatewayOptions): Promise<TestGateway> {
  const gateway = await startTestGateway(options);
  gateways.push(gateway);
  return gateway;
}

afterEach(async () => {
  await Promise.all(gateways.splice(0).map((gateway) => gateway.close()));
  await Promise.all(closing.splice(0).map((close) => close()));
});

function ask({ baseURL }: TestGateway, { key = "", stream = false } = {}): Promise<Response> {
  return fetch(`${baseURL}/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}` },
    body: JSON.stringify({ messages: [{ role: "user", content: "Hello!" }], stream }),
  });
}

const keyOf = (name: string) => `${name}:${createHash("sha256").update(name).digest("hex")}`;

describe("reloaded settings", () => {
  test("apply to new requests: keys are added and removed", async () => {
    const gateway = await start({ settings: { keys: [keyOf("old")] } });
    expect((await ask(gateway, { key: "old" })).status).toBe(200);
    await gateway.reload({ keys: [keyOf("new")] });
    expect((await ask(gateway, { key: "old" })).status).toBe(401);
    expect((await ask(gateway, { key: "new" })).status).toBe(200);
  });

  test("change the backends", async () => {
    const gateway = await start({});
    await gateway.reload({ backends: [{ engine: "demo", servedName: "other" }] });
    const models = await (await fetch(`${gateway.baseURL}/models`)).json();
    expect(models).toMatchObject({ data: [{ id: "other" }] });
  });

  test("do not cut a stream in flight, even if its key is gone", async () => {
    const gateway = await start({
      engine: createEngine("demo", { model: "demo", tokensPerSecond: 200 }),
      settings: { keys: [keyOf("old")] },
    });
    const response = await ask(gateway, { key: "old", stream: true });
    await gateway.reload({ keys: [keyOf("new")] });
    expect(await response.text()).toMatch(/data: \[DONE\]\n\n$/);
  });

  test("end open WebSockets, after their response in flight: a removed key cannot go on using one", async () => {
    const gateway = await start({
      engine: createEngine("demo", { model: "demo", tokensPerSecond: 200 }),
      settings: { keys: [keyOf("old")] },
    });
    const open = async (key: string) => {
      const headers = { authorization: `Bearer ${key}` };
      const socket = new WebSocket(`${gateway.baseURL.replace("http", "ws")}/responses`, {
        headers,
      });
      const types: unknown[] = [];
      socket.on("message", (data: Buffer) => types.push(JSON.parse(String(data)).type));
      const [status] = await Promise.race([
        once(socket, "open").then(() => [101]),
        once(socket, "unexpected-response").then(([, response]) => [response.statusCode]),
      ]);
      return { socket, types, status };
    };
    const idle = await open("old");
    const busy = await open("old");
    const create = { type: "response.create", model: "openai/gpt-oss-20b", input: "Hello!" };
    busy.socket.send(JSON.stringify(create));
    await once(busy.socket, "message");
    const closed = Promise.all([idle, busy].map(({ socket }) => once(socket, "close")));
    await gateway.reload({ keys: [keyOf("new")] });
    expect((await closed).map(([code, reason]) => [code, String(reason)])).toEqual([
      [1000, "The gateway has new settings."],
      [1000, "The gateway has new settings."],
    ]);
    expect(idle.types).toEqual([]);
    expect(busy.types.at(-1)).toBe("response.completed");
    const [refused, accepted] = [await open("old"), await open("new")];
    expect([refused.status, accepted.status]).toEqual([401, 101]);
    accepted.socket.close();
  });

  test("U15: reach WebSockets: a message may be as long as a body", async () => {
    const gateway = await start({ settings: { maxBodyBytes: 3_000 } });
    const send = async () => {
      const socket = new WebSocket(`${gateway.baseURL.replace("http", "ws")}/responses`);
      await once(socket, "open");
      const over = new Promise((resolve) => {
        socket.on("close", resolve);
        socket.on("message", (data: Buffer) => {
          const { type } = JSON.parse(String(data));
          if (type === "response.completed") resolve(type);
        });
      });
      const input = "Hello! ".repeat(1_000);
      socket.send(JSON.stringify({ type: "response.create", model: "openai/gpt-oss-20b", input }));
      const how = await over;
      socket.close();
      return how;
    };
    expect(await send()).toBe(1009);
    await gateway.reload({ maxBodyBytes: 1_000_000 });
    expect(await send()).toBe("response.completed");
    await gateway.reload({ maxBodyBytes: 3_000 });
    expect(await send()).toBe(1009);
  });

  test("leave the metrics as they were, and later requests are added to them", async () => {
    const settings = { metrics: "open", servedName: "m" };
    const gateway = await start({ settings });
    const count = async () => {
      const text = await (await fetch(`${gateway.origin}/metrics`)).text();
      const read = (name: string) => Number(text.split(`${name} `)[1]?.split("\n")[0]);
      return {
        requests: read('_requests_total{route="/v1/chat/completions",status="200"}'),
        turns: read('_turns_total{model="m",finish="stop"}'),
        completions: read(
          '_backend_completions_total{model="m",backend="demo",outcome="succeeded"}',
        ),
        seconds: read('_turn_seconds_count{model="m"}'),
        // A name is printed once.
        families: text.match(/# TYPE harmony_gateway_turns_total /g)?.length,
      };
    };
    await ask(gateway);
    await gateway.reload(settings);
    await ask(gateway);
    expect(await count()).toEqual({
      requests: 2,
      turns: 2,
      completions: 2,
      seconds: 2,
      families: 1,
    });
  });

  test("do not lose a stream in flight, which is counted when it ends", async () => {
    const settings = { metrics: "open" };
    const gateway = await start({
      settings,
      engine: createEngine("demo", { model: "demo", tokensPerSecond: 200 }),
    });
    const response = await ask(gateway, { stream: true });
    await gateway.reload(settings);
    const metrics = async () => (await fetch(`${gateway.origin}/metrics`)).text();
    expect(await metrics()).toContain("harmony_gateway_turns_in_flight 1\n");
    await response.text();
    await expect.poll(metrics).toContain("harmony_gateway_turns_in_flight 0\n");
    expect(await metrics()).toContain('finish="stop"} 1\n');
  });

  test("S12: are given up for later ones and for a shutdown, though an engine does not answer", async () => {
    let probes = 0;
    const frozen = {
      ...createEngine("demo", { model: "demo" }),
      probe(signal: AbortSignal): Promise<never> {
        probes += 1;
        return new Promise((_, reject) => {
          signal.addEventListener("abort", () => reject(signal.reason));
        });
      },
    };
    // The delay exceeds the timeout of the test.
    const settings = { connectTimeoutMs: 1_000_000 };
    const gateway = await startTestGateway({ engine: frozen, settings });
    const reloads = [1, 2, 3].map(() => gateway.reload(settings));
    await expect.poll(() => probes).toBeGreaterThan(1);
    reloads.push(gateway.reload(settings));
    await expect.poll(() => probes).toBeGreaterThan(2);
    await gateway.close();
    await Promise.all(reloads);
    expect(gateway.logged.filter(({ event }) => event === "settings read again")).toEqual([]);
    // The monitor probes once, and the first settings, the last of the three and the later ones at most once each.
    expect(probes).toBeLessThanOrEqual(4);
    await expect(fetch(gateway.origin)).rejects.toThrow("fetch failed");
  });

  test("do not change settings that need a restart, and the log names those", async () => {
    const gateway = await start({ settings: { storeMaxEntries: 5 } });
    await gateway.reload({
      storeMaxEntries: 6,
      storeMaxEntriesPerKey: 6,
      storeMaxBytesPerKey: 600,
      inspectMaxAgeSeconds: 60,
    });
    expect(gateway.logged.find(({ event }) => event === "settings read again")).toMatchObject({
      restartFor: [
        "storeMaxEntries",
        "storeMaxEntriesPerKey",
        "storeMaxBytesPerKey",
        "inspectMaxAgeSeconds",
      ],
    });
    await gateway.reload({ storeMaxEntries: 6 });
    expect(gateway.logged.findLast(({ event }) => event === "settings read again")).toMatchObject({
      restartFor: ["storeMaxEntries"],
    });
  });

  test("that contradict a setting which needs a restart are refused whole", async () => {
    const keys = [keyOf("old")];
    const gateway = await start({ settings: { host: "0.0.0.0", keys } });
    // The settings are valid for a loopback address only, because they have no keys.
    await expect(gateway.reload({ host: "127.0.0.1", servedName: "other" })).rejects.toThrow(
      "host 0.0.0.0: other machines could use the gateway without a key. Create a key with `harmony-gateway key`, or set --open to " +
        "allow it.\nThe new settings are judged with the present value of host, which only a restart changes.",
    );
    expect((await ask(gateway)).status).toBe(401);
    expect((await ask(gateway, { key: "old" })).status).toBe(200);
    expect(await (await ask(gateway, { key: "old" })).text()).not.toContain('"other"');
  });

  test("that share a port without a store to share are refused too", async () => {
    const upstream = await freePort();
    const sealed = {
      port: upstream,
      reusePort: true,
      reasoningPolicy: "sealed",
      sealingKeys: ["k".repeat(43)],
    };
    const gateway = await start({ settings: sealed });
    await expect(gateway.reload({})).rejects.toThrow("reusePort: with the store memory");
  });

  test("keep the random key of sealed reasoning: a client's seals stay readable", async () => {
    const gateway = await start({});
    const post = async (input: unknown) => {
      const body = JSON.stringify({ model: "openai/gpt-oss-20b", input });
      const response = await fetch(`${gateway.baseURL}/responses/compact`, {
        method: "POST",
        body,
      });
      const { output }: { output: Record<string, unknown>[] } = JSON.parse(await response.text());
      return { status: response.status, output };
    };
    const question = { role: "user", content: "Hello!" };
    const { output } = await post([question, { role: "assistant", content: "Hi." }]);
    expect(output.at(-1)).toMatchObject({ type: "compaction" });
    await gateway.reload({});
    expect((await post([...output, question])).status).toBe(200);
    // Added keys do not end the stream either.
    await gateway.reload({ sealingKeys: ["k".repeat(43)] });
    expect((await post([...output, question])).status).toBe(200);
  });

  describe("keep the health of a backend that is the same", () => {
    /** A vLLM that answers all requests but those for its list of models while it is ill. */
    async function startFlaky() {
      const state = { isIll: false };
      const upstream = await startFakeUpstream((exchange) => {
        if (exchange.path === "/v1/completions") {
          const ids = spelledIds("<|channel|>final<|message|>Hi<|return|>");
          exchange.begin();
          return exchange.end(`${toFrame(ids, null)}${toFrame([], "stop")}data: [DONE]\n\n`);
        }
        const body = { data: [{ id: "m", max_model_len: 4096 }], version: "1" };
        return exchange.reply(state.isIll ? 503 : 200, JSON.stringify(body));
      });
      closing.push(() => upstream.close());
      const settings = {
        engine: "vllm",
        url: upstream.url,
        model: "m",
        healthIntervalMs: 1_000_000,
      };
      const gateway = await start({ settings });
      // The monitor has probed and checked the engine once.
      await expect.poll(() => upstream.exchanges.some(({ path }) => path === "/health")).toBe(true);
      return { state, gateway, settings };
    }

    test("U14: the last one stays in use, though the reloads come while its probe fails", async () => {
      const { state, gateway, settings } = await startFlaky();
      state.isIll = true;
      for (const maxConcurrent of [1, 2, 3, 4]) {
        await gateway.reload({ ...settings, maxConcurrent });
        expect((await ask(gateway)).status).toBe(200);
      }
      const ready = gateway.logged.filter(({ event }) => event === "engine ready");
      expect(ready.at(-1)).toMatchObject({ contextLength: 4096 });
    });

    test("but one with another key is probed again", async () => {
      const { state, gateway, settings } = await startFlaky();
      state.isIll = true;
      await gateway.reload({ ...settings, engineKey: "other" });
      expect((await ask(gateway)).status).toBe(503);
    });
  });

  describe("share limits with the former ones", () => {
    /** A vLLM whose answers begin, and end when they are released. */
    async function startHeld() {
      const open: FakeExchange[] = [];
      const upstream = await startFakeUpstream((exchange) => {
        if (exchange.path !== "/v1/completions") {
          return exchange.reply(200, JSON.stringify({ data: [{ id: "m" }], version: "1" }));
        }
        exchange.begin();
        if (!readPrompt(exchange.body).startsWith("<|start|>system")) return finish(exchange);
        exchange.write(toFrame(spelledIds("<|channel|>final<|message|>H"), null));
        open.push(exchange);
        void exchange.closed.then(() => open.splice(open.indexOf(exchange), 1));
        return undefined;
      });
      closing.push(() => upstream.close());
      const finish = (exchange: FakeExchange | undefined): void =>
        exchange?.end(
          `${toFrame(spelledIds("i<|return|>"), null)}${toFrame([], "stop")}data: [DONE]\n\n`,
        );
      return { url: upstream.url, open, finish };
    }

    const queued = (gateway: TestGateway) => gateway.counter('completions_queued{model="m"}');

    test("slots of a backend: as many streams as before, whatever is reloaded how often", async () => {
      const { url, open, finish } = await startHeld();
      const settings = (maxConcurrent: number) => ({
        engine: "vllm",
        url,
        model: "m",
        metrics: "open",
        maxConcurrent,
      });
      const gateway = await start({ settings: settings(3) });
      const answers: Promise<Response>[] = [];
      for (let round = 0; round < 3; round++) {
        for (let n = 0; n < 3; n++) answers.push(ask(gateway));
        await gateway.reload(settings(3));
      }
      await expect.poll(() => queued(gateway)).toBe(6);
      expect(open).toHaveLength(3);
      // One place is left: two of the three that run must end before another one begins.
      await gateway.reload(settings(2));
      finish(open[0]);
      await expect.poll(() => open.length).toBe(2);
      expect(await queued(gateway)).toBe(6);
      finish(open[0]);
      await expect.poll(() => queued(gateway)).toBe(5);
      // More places are filled at once, from the queue of the first settings.
      await gateway.reload(settings(7));
      await expect.poll(() => open.length).toBe(7);
      expect(await queued(gateway)).toBe(0);
      for (const exchange of open.slice()) finish(exchange);
      const statuses = (await Promise.all(answers)).map(({ status }) => status);
      expect(statuses).toEqual(Array.from({ length: 9 }, () => 200));
    });

    test("slots of a key, also of one that is gone", async () => {
      const { url, open, finish } = await startHeld();
      const engine = { engine: "vllm", url, model: "m", metrics: "open", maxConcurrentPerKey: 1 };
      const gateway = await start({ settings: { ...engine, keys: [keyOf("a"), keyOf("b")] } });
      const answers = [ask(gateway, { key: "a" }), ask(gateway, { key: "a" })];
      await expect.poll(() => queued(gateway)).toBe(1);
      await gateway.reload({ ...engine, keys: [keyOf("b")] });
      answers.push(ask(gateway, { key: "b" }));
      await expect.poll(() => open.length).toBe(2);
      expect(await queued(gateway)).toBe(1);
      const [first] = open;
      finish(first);
      await expect.poll(() => open.length === 2 && !open.some((each) => each === first)).toBe(true);
      expect(await queued(gateway)).toBe(0);
      for (const exchange of open.slice()) finish(exchange);
      await Promise.all(answers);
    });

    test("background responses, which can be cancelled and followed as before", async () => {
      const settings = { maxBackgroundPerKey: 2, shutdownGraceMs: 1 };
      const engine = createEngine("demo", { model: "demo", tokensPerSecond: 5 });
      const gateway = await start({ settings, engine });
      const url = `${gateway.baseURL}/responses`;
      const begin = () => {
        const body = JSON.stringify({ input: "Hello!", background: true, model: "gpt-oss-20b" });
        return fetch(url, { method: "POST", body });
      };
      const [first, second] = [await begin(), await begin()];
      expect([first.status, second.status]).toEqual([200, 200]);
      for (let n = 0; n < 3; n++) await gateway.reload(settings);
      expect((await begin()).status).toBe(429);
      const { id }: { id: string } = JSON.parse(await first.text());
      const cancelled = await fetch(`${url}/${id}/cancel`, { method: "POST" });
      expect(await cancelled.json()).toMatchObject({ status: "cancelled" });
      expect((await begin()).status).toBe(200);
      await gateway.reload({ maxBackgroundPerKey: 1 });
      const refused = await begin();
      expect([refused.status, await refused.text()]).toEqual([
        429,
        expect.stringContaining("this key has reached its limit of 2 background responses"),
      ]);
    });

    test("and limits that were not served do not hold", async () => {
      const { url, open, finish } = await startHeld();
      const silent = await startFakeUpstream(() => {});
      closing.push(() => silent.close());
      const settings = { engine: "vllm", url, model: "m", metrics: "open", maxConcurrent: 1 };
      const gateway = await start({ settings });
      const first = ask(gateway);
      await expect.poll(() => open.length).toBe(1);
      // The engine of the settings does not answer the probe, so the gateway gives up after a long time.
      const tried = gateway.reload({
        ...settings,
        url: silent.url,
        maxConcurrent: 9,
        connectTimeoutMs: 1_000_000,
      });
      await expect.poll(() => silent.exchanges.length).toBeGreaterThan(0);
      const second = ask(gateway);
      await expect.poll(() => queued(gateway)).toBe(1);
      expect(open).toHaveLength(1);
      await gateway.reload(settings);
      await tried;
      finish(open[0]);
      await first;
      await expect.poll(() => open.length).toBe(1);
      finish(open[0]);
      expect((await second).status).toBe(200);
    });
  });
});
