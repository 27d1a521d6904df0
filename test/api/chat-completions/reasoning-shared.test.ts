import { hash } from "node:crypto";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createMemoryStore, type Store } from "../../../src/index.ts";
import { createTestApp } from "../../helpers/app.ts";
import { type HoldingVllm, startHoldingVllm } from "../../helpers/holding-vllm.ts";
import { type GatewayProcess, startGatewayProcess } from "../../helpers/gateway-process.ts";
import { ON_WORKERS } from "../../helpers/gateway.ts";
import { HAS_REDIS, startRedis, type TestRedis } from "../../helpers/redis.ts";
import { scriptedEngine } from "../../helpers/scripted-engine.ts";
import { forgetful, loopScripts, runLoop, STEP_TOOL, analysisIn } from "../../helpers/tool-loop.ts";
import { readChatMessage } from "../../helpers/replies.ts";

const SEALING = Buffer.alloc(32, "k").toString("base64url");
const OLD_SEALING = Buffer.alloc(32, "o").toString("base64url");

const WHOLE = [[], ["one 1"], ["one 1", "one 2"], ["one 1", "one 2", "one 3"]];
const SECOND = [[], ["two 1"], ["two 1", "two 2"], ["two 1", "two 2", "two 3"]];
const LOST = [[], [], [], []];

function memoryStore(): Store {
  return createMemoryStore({ maxEntries: 100, maxBytes: 100_000, now: Date.now });
}

describe("two gateways with one store", () => {
  test("restore each other's reasoning", async () => {
    const engine = scriptedEngine([...loopScripts("one"), ...loopScripts("two")]);
    const store = memoryStore();
    const posts = [createTestApp({ engine, store }).post, createTestApp({ engine, store }).post];
    const { outcomes, messages } = await runLoop(posts, { remember: forgetful });
    expect(outcomes).toEqual([null, "stored", "stored", "stored"]);
    await runLoop(posts, { remember: forgetful, messages });
    expect(engine.prompts.map((prompt) => analysisIn(prompt))).toEqual([...WHOLE, ...SECOND]);
  });

  test("without a shared store, reasoning that clients do not send back is lost and reported", async () => {
    const engine = scriptedEngine(loopScripts("one"));
    const posts = [createTestApp({ engine }).post, createTestApp({ engine }).post];
    const { outcomes } = await runLoop(posts, { remember: forgetful });
    expect(outcomes).toEqual([null, "lost", "lost", "lost"]);
    expect(analysisIn(engine.prompts[3])).toEqual(["one 2"]);
  });
});

describe("two gateways with nothing in common but a sealing key", () => {
  test.each([
    ["the same key", [SEALING], [SEALING]],
    ["one rotated, one not yet", [SEALING, OLD_SEALING], [OLD_SEALING, SEALING]],
  ])("decrypt what the client carries between them: %s", async (_, one, other) => {
    const engine = scriptedEngine(loopScripts("one"));
    const posts = [one, other].map((sealingKeys) => {
      return createTestApp({ engine, settings: { reasoningPolicy: "sealed", sealingKeys } }).post;
    });
    const { outcomes } = await runLoop(posts);
    expect(engine.prompts.map((prompt) => analysisIn(prompt))).toEqual(WHOLE);
    expect(outcomes).toEqual([null, "sealed", "sealed", "sealed"]);
  });

  test("with different sealing keys neither can decrypt the other's reasoning", async () => {
    const engine = scriptedEngine(loopScripts("one"));
    const posts = [[SEALING], [OLD_SEALING]].map((sealingKeys) => {
      return createTestApp({ engine, settings: { reasoningPolicy: "sealed", sealingKeys } }).post;
    });
    const { outcomes } = await runLoop(posts);
    expect(outcomes).toEqual([null, "lost", "lost", "lost"]);
  });
});

describe("clients with different keys", () => {
  async function twoKeys() {
    const engine = scriptedEngine([
      ...loopScripts("one").slice(0, 1),
      ...loopScripts("two").slice(0, 1),
    ]);
    const app = createTestApp({
      engine,
      settings: {
        sealingKeys: [SEALING],
        keys: [
          { name: "alice", sha256: hash("sha256", "key-a"), reasoningPolicy: "sealed" },
          { name: "bob", sha256: hash("sha256", "key-b") },
        ],
      },
    });
    const messages: object[] = [{ role: "user", content: "Go." }];
    const ask = (key: string) =>
      app.post({ messages, tools: [STEP_TOOL] }, { authorization: `Bearer ${key}` });
    return { engine, app, messages, ask };
  }

  test.each([
    ["knows the call's id", false],
    ["carries the seal as well", true],
  ])("do not get each other's reasoning: one who %s", async (_, withSeal) => {
    const { engine, app, messages, ask } = await twoKeys();
    const first = await readChatMessage(await ask("key-a"));
    messages.push(withSeal ? first : forgetful(first));
    messages.push({ role: "tool", tool_call_id: first.tool_calls?.[0]?.id, content: "ok" });
    const stolen = await ask("key-b");
    expect(stolen.headers.get("x-harmony-cot")).toBe("lost");
    expect(engine.prompts.map((prompt) => analysisIn(prompt))).toEqual([[], []]);
    expect(await app.counter('seals_refused_total{reason="not-authentic"}')).toBe(
      withSeal ? 1 : undefined,
    );
  });

  test("each have their own policy", async () => {
    const { ask } = await twoKeys();
    const [alice, bob] = [
      await readChatMessage(await ask("key-a")),
      await readChatMessage(await ask("key-b")),
    ];
    expect([alice.reasoning, bob.reasoning]).toEqual([null, "two 1"]);
    expect(alice.reasoning_details).toMatchObject([{ type: "reasoning.encrypted" }]);
    expect(bob.reasoning_details).toMatchObject([{ type: "reasoning.text" }]);
  });
});

describe("a failing store fails no request, and the loss is reported", () => {
  const troubles: [string, Store, Record<string, unknown>, string][] = [
    [
      "down",
      {
        get: () => Promise.reject(new Error("connection refused")),
        set: () => Promise.reject(new Error("connection refused")),
        delete: () => Promise.reject(new Error("connection refused")),
      },
      {},
      "error",
    ],
    [
      "too slow",
      {
        get: () => new Promise(() => {}),
        set: () => new Promise(() => {}),
        delete: () => new Promise(() => {}),
      },
      { storeTimeoutMs: 20 },
      "timeout",
    ],
  ];

  test.each(troubles)("%s", async (_, store, settings, failure) => {
    for (const stream of [false, true]) {
      const engine = scriptedEngine(loopScripts("one"));
      const app = createTestApp({ engine, store, settings });
      const { outcomes, replies } = await runLoop(app.post, {
        remember: forgetful,
        body: { stream },
      });
      expect(replies.at(-1)?.content).toBe("one done");
      expect(outcomes).toEqual([null, "lost", "lost", "lost"]);
      expect(engine.prompts.map((prompt) => analysisIn(prompt))).toEqual(LOST);
      expect(await app.counter('reasoning_returned_total{outcome="lost"}')).toBe(1 + 2 + 3);
      expect(
        await app.counter(`store_failures_total{operation="set",failure="${failure}"}`),
      ).toBeGreaterThan(0);
      expect(
        await app.counter(`store_failures_total{operation="get",failure="${failure}"}`),
      ).toBeGreaterThan(0);
      const told = app.logged.filter(({ event }) => event === "store failing");
      expect(told).toMatchObject([{ level: "warn", operation: "set", failure }]);
    }
  });

  test.each(troubles)(
    "%s: a client that sends its reasoning is not affected",
    async (_, store, settings) => {
      const engine = scriptedEngine(loopScripts("one"));
      const { outcomes } = await runLoop(createTestApp({ engine, store, settings }).post);
      expect(outcomes).toEqual([null, "sent", "sent", "sent"]);
      expect(engine.prompts.map((prompt) => analysisIn(prompt))).toEqual(WHOLE);
    },
  );

  test("full: entries that fit are stored", async () => {
    const engine = scriptedEngine(loopScripts("one"));
    const app = createTestApp({ engine, settings: { storeMaxEntries: 2 } });
    const { outcomes } = await runLoop(app.post, { remember: forgetful });
    expect(outcomes).toEqual([null, "stored", "stored", "lost"]);
    expect(engine.prompts.map((prompt) => analysisIn(prompt))).toEqual([
      [],
      ["one 1"],
      ["one 1", "one 2"],
      ["one 2", "one 3"],
    ]);
  });

  test("full to the last byte", async () => {
    const engine = scriptedEngine(loopScripts("one"));
    const app = createTestApp({ engine, settings: { storeMaxBytes: 1 } });
    const { outcomes } = await runLoop(app.post, { remember: forgetful });
    expect(outcomes).toEqual([null, "lost", "lost", "lost"]);
  });
});

// On Node in either project.
describe.skipIf(ON_WORKERS)("processes (skipped where the runtime is workerd)", () => {
  let vllm: HoldingVllm;
  const gateways: GatewayProcess[] = [];

  beforeEach(async () => {
    vllm = await startHoldingVllm((prompt) => {
      const name = prompt.includes("one done") ? "two" : "one";
      const steps = prompt.split(name === "two" ? "one done" : "Go.").at(-1) ?? "";
      return loopScripts(name)[steps.split("<|start|>functions.step").length - 1] ?? "";
    });
  });
  afterEach(async () => {
    await Promise.all(gateways.splice(0).map((each) => each.stop()));
    await vllm.close();
  });

  async function startTwo(args: readonly string[]) {
    const start = async () => {
      const started = await startGatewayProcess(["--engine", "vllm", "--url", vllm.url, ...args]);
      gateways.push(started);
      return started.post;
    };
    return Promise.all([start(), start()]);
  }

  test("two that share only the sealing key restore a loop's reasoning", async () => {
    const posts = await startTwo(["--reasoning-policy", "sealed", "--sealing-keys", SEALING]);
    const { outcomes, messages } = await runLoop(posts);
    expect(outcomes).toEqual([null, "sealed", "sealed", "sealed"]);
    await runLoop(posts, { messages });
    expect(vllm.prompts.map((prompt) => analysisIn(prompt))).toEqual([...WHOLE, ...SECOND]);
  });

  const without = HAS_REDIS ? "" : " (skipped if redis-server is not installed)";
  describe.skipIf(!HAS_REDIS)(`with one Redis${without}`, () => {
    let redis: TestRedis;
    beforeAll(async () => {
      redis = await startRedis();
    });
    afterAll(() => redis.kill());

    test("two restore reasoning that a client does not send back", async () => {
      const posts = await startTwo(["--store", redis.url, "--store-timeout-ms", "5000"]);
      for (const stream of [false, true]) {
        vllm.prompts.length = 0;
        const { outcomes, messages } = await runLoop(posts, {
          remember: forgetful,
          body: { stream },
        });
        expect(outcomes).toEqual([null, "stored", "stored", "stored"]);
        await runLoop(posts, { remember: forgetful, messages, body: { stream } });
        expect(vllm.prompts.map((prompt) => analysisIn(prompt))).toEqual([...WHOLE, ...SECOND]);
      }
    });

    test("when Redis stops they answer without it, and use it again when it is back", async () => {
      const posts = await startTwo(["--store", redis.url, "--store-timeout-ms", "200"]);
      await redis.kill();
      const down = await runLoop(posts, { remember: forgetful });
      expect(down.outcomes).toEqual([null, "lost", "lost", "lost"]);
      expect(down.replies.at(-1)?.content).toBe("one done");
      await redis.start();
      await expect
        .poll(async () => (await runLoop(posts, { remember: forgetful })).outcomes)
        .toEqual([null, "stored", "stored", "stored"]);
    });
  });
});
