/**
 * Promises of the gateway over KV with the rules of production, and the promises that KV cannot keep: KV is for reasoning and
 * for stored responses, while conversations and background responses need more of a store than KV promises.
 */
import { describe, expect, test, vi } from "vitest";
import * as z from "zod";
import { createKvStore } from "../../src/index.ts";
import { consume } from "../api/responses/consumer.ts";
import { holdLoop } from "../api/responses/loops.ts";
import { responseObject } from "../api/responses/schemas.ts";
import { MODEL, readEvents, type ResponsesApp, responsesApp } from "../api/responses/support.ts";
import { createTestApp } from "../helpers/app.ts";
import { settled, useFakeTime } from "../helpers/fake-time.ts";
import { type Script, type ScriptedEngine, scriptedEngine } from "../helpers/scripted-engine.ts";
import { createSimulatedKv } from "../helpers/simulated-kv.ts";
import { forgetful, loopScripts, type Post, runLoop, STEP_TOOL } from "../helpers/tool-loop.ts";

useFakeTime();

const ANSWER = "<|channel|>final<|message|>Hello there!<|return|>";
const REQUEST = { model: MODEL, input: "Hi." };
const BACKGROUND = { ...REQUEST, background: true };

/** Gateways in two locations over one namespace. */
function twoLocations(script: Script = ANSWER) {
  const kv = createSimulatedKv();
  const open = (location: string) =>
    responsesApp({
      engine: scriptedEngine(() => script),
      store: createKvStore(kv.at(location)),
      settings: { keepAliveMs: 3_600_000 },
    });
  return { kv, here: open("here"), there: open("there") };
}

/** Writes this number of tokens, at intervals. */
function slowEngine(tokens: number, everyMs: number): ScriptedEngine {
  const words = Array.from({ length: tokens }, (_, n) => [" one", " two"][n % 2]).join("");
  const engine = scriptedEngine(() => `<|channel|>final<|message|>Here:${words}<|return|>`);
  return {
    ...engine,
    async *complete(request, signal) {
      for await (const event of engine.complete(request, signal)) {
        await new Promise((resolve) => setTimeout(resolve, everyMs));
        signal.throwIfAborted();
        yield event;
      }
    },
  };
}

/** A request in a loop that has made this number of calls. */
function loopOf(calls: number): object {
  const toolCall = (n: number) => ({
    id: `call_${n}`,
    type: "function",
    function: { name: "step", arguments: "{}" },
  });
  const messages = Array.from({ length: calls }, (_, n) => [
    { role: "assistant", content: null, tool_calls: [toolCall(n)] },
    { role: "tool", tool_call_id: `call_${n}`, content: "ok" },
  ]).flat();
  return { messages: [{ role: "user", content: "Go." }, ...messages], tools: [STEP_TOOL] };
}

async function create(app: ResponsesApp, body: object) {
  const response = await settled(app.send("POST", "/v1/responses", { model: MODEL, ...body }));
  expect(response.status).toBe(200);
  return responseObject.parse(await settled(response.json()));
}

async function look(app: ResponsesApp, id: string) {
  const response = await settled(app.send("GET", `/v1/responses/${id}`));
  return response.status === 200
    ? responseObject.parse(await settled(response.json())).status
    : response.status;
}

describe("holds:", () => {
  test("a loop of tool calls over Responses, continued by id", async () => {
    const kv = createSimulatedKv();
    const engine = scriptedEngine(loopScripts("one"));
    const app = responsesApp({ engine, store: createKvStore(kv.at("here")) });
    await holdLoop(
      (body) => {
        kv.beginInvocation();
        return create(app, body);
      },
      { byResponseId: true },
    );
    expect(engine.prompts.at(-1)).toContain("one 3");
    expect(kv.rejected).toEqual([]);
  });

  test("a stored response is read at once in any location that has not looked for it", async () => {
    const { here, there } = twoLocations();
    const { id } = await create(here, { input: "Hi." });
    expect(await look(here, id)).toBe("completed");
    expect(await look(there, id)).toBe("completed");
  });

  test("a conversation is created, used at once, and changed twice within the second", async () => {
    const { kv, here } = twoLocations();
    const made = await settled(here.send("POST", "/v1/conversations", {}));
    const { id } = z.object({ id: z.string() }).parse(await settled(made.json()));
    expect((await create(here, { input: "Hi.", conversation: id })).status).toBe("completed");
    const add = () =>
      here.send("POST", `/v1/conversations/${id}/items`, {
        items: [{ type: "message", role: "user", content: "Hi." }],
      });
    const answers = await settled(Promise.all([add(), add()]));
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    const items = await settled(here.send("GET", `/v1/conversations/${id}/items`));
    expect(await settled(items.json())).toMatchObject({ data: [{}, {}, {}, {}] });
    expect(kv.rejected).toEqual([]);
  });

  test("a conversation that another location has written within the second is written after it", async () => {
    const { kv, here, there } = twoLocations();
    const made = await settled(here.send("POST", "/v1/conversations", {}));
    const { id } = z.object({ id: z.string() }).parse(await settled(made.json()));
    expect((await create(there, { input: "Hi.", conversation: id })).status).toBe("completed");
    expect(kv.rejected).toEqual(["KV PUT failed: 429 Too Many Requests"]);
  });

  test("a short background response ends, though its end comes within a second of its beginning", async () => {
    const { kv, here } = twoLocations();
    const { id } = await create(here, BACKGROUND);
    await vi.advanceTimersByTimeAsync(3_000);
    expect(await look(here, id)).toBe("completed");
    expect(kv.rejected).toEqual([]);
  });

  test.each([
    ["350", 5, 50],
    ["1,400", 5, 110],
    ["24,000", 20, 300],
  ])(
    "a background response of %s tokens, %i a second, ends within one invocation, after at most %i writes",
    async (tokens, perSecond, maxWrites) => {
      const kv = createSimulatedKv();
      const count = Number(tokens.replace(",", ""));
      const here = responsesApp({
        engine: slowEngine(count, 1000 / perSecond),
        store: createKvStore(kv.at("here")),
        settings: { keepAliveMs: 3_600_000 },
      });
      // The stream is read within the same invocation, as by a streaming client.
      const events = await settled(
        readEvents(
          await settled(here.send("POST", "/v1/responses", { ...BACKGROUND, stream: true })),
        ),
        500,
      );
      expect(consume(events).status).toBe("completed");
      expect(kv.writes).toBeLessThanOrEqual(maxWrites);
      expect(kv.rejected).toEqual([]);
    },
  );

  test("a loop of 300 calls is read by three operations", async () => {
    const kv = createSimulatedKv();
    const engine = scriptedEngine(() => ANSWER);
    const app = createTestApp({ engine, store: createKvStore(kv.at("here")) });
    kv.beginInvocation();
    expect((await settled(app.post(loopOf(300)))).status).toBe(200);
    expect(kv.operations).toBe(3);
  });

  test("a conversation of 80 responses, continued by id, is read by eleven operations", async () => {
    const { kv, here } = twoLocations();
    let previous: string | undefined;
    for (let turn = 0; turn < 80; turn++) {
      kv.beginInvocation();
      const { id } = await create(here, {
        input: `${turn}`,
        ...(previous !== undefined && { previous_response_id: previous }),
      });
      previous = id;
    }
    kv.beginInvocation();
    await create(here, { input: "Hi.", previous_response_id: previous, store: false });
    // The last response names the others, which are read eight at a time.
    expect(kv.operations).toBe(1 + 10);
  });

  test("a call of a loop is kept by one write", async () => {
    const kv = createSimulatedKv();
    const engine = scriptedEngine(loopScripts("one"));
    const app = createTestApp({ engine, store: createKvStore(kv.at("here")) });
    const ask = { messages: [{ role: "user", content: "Go." }], tools: [STEP_TOOL] };
    expect((await settled(app.post(ask))).status).toBe(200);
    expect(kv.writes).toBe(1);
  });

  test("reasoning comes back where each read takes 700 ms", async () => {
    const kv = createSimulatedKv({ readMs: 700 });
    const engine = scriptedEngine(loopScripts("one"));
    const open = (location: string) =>
      createTestApp({ engine, store: createKvStore(kv.at(location)) });
    const posts = [open("here"), open("there")].map(
      (app): Post =>
        async (body) =>
          settled(app.post(body)),
    );
    const { outcomes } = await settled(runLoop(posts, { remember: forgetful }), 50);
    expect(outcomes).toEqual([null, "stored", "stored", "stored"]);
  });

  test("a background response that runs is not reported as failed where an old heartbeat is cached", async () => {
    const { kv, here, there } = twoLocations({ write: ANSWER.slice(0, 40), hang: true });
    const { id } = await create(here, BACKGROUND);
    await vi.advanceTimersByTimeAsync(2_000);
    for (let seconds = 0; seconds < 150; seconds += 5) {
      kv.beginInvocation();
      expect(await look(there, id)).toBe("in_progress");
      await vi.advanceTimersByTimeAsync(5_000);
    }
    await settled(here.send("POST", `/v1/responses/${id}/cancel`));
  });

  test("one followed elsewhere comes whole, if late", async () => {
    const { kv, here, there } = twoLocations();
    const invocations = setInterval(() => kv.beginInvocation(), 10_000);
    const { id } = await create(here, BACKGROUND);
    const events = await settled(
      readEvents(await settled(there.send("GET", `/v1/responses/${id}?stream=true`))),
      50,
    );
    clearInterval(invocations);
    expect(consume(events).status).toBe("completed");
  });

  test("the reads of a very long loop disturb no other request of the isolate", async () => {
    const kv = createSimulatedKv();
    const engine = scriptedEngine(() => ANSWER);
    const app = createTestApp({ engine, store: createKvStore(kv.at("here")) });
    kv.beginInvocation();
    expect((await settled(app.post(loopOf(999)))).status).toBe(200);
    expect(kv.operations).toBe(10);
    const again = await settled(app.post({ messages: [{ role: "user", content: "Go." }] }));
    expect(again.status).toBe(200);
    expect(
      await app.counter('harmony_gateway_store_failures_total{operation="get",failure="resting"}'),
    ).toBe(undefined);
  });
});

test("a value that is larger than KV takes is refused, and the previous one is unchanged", async () => {
  const store = createKvStore(createSimulatedKv().at("here"));
  await store.set("a", "x", 3600, "alice");
  await vi.advanceTimersByTimeAsync(1_000);
  expect(await store.set("a", "y".repeat(26_214_401), 3600, "alice")).toBe(false);
  expect(await store.get("a")).toBe("x");
});

test("a write that KV refuses after it has waited is given up after three seconds in all", async () => {
  const busy = createSimulatedKv().at("here");
  const asked: number[] = [];
  const store = createKvStore({
    ...busy,
    async put() {
      asked.push(Date.now());
      throw new Error("KV PUT failed: 429 Too Many Requests");
    },
  });
  const start = Date.now();
  const writes = Array.from({ length: 4 }, () => store.set("a", "x", 3600, "alice"));
  const ended = await settled(Promise.allSettled(writes));
  expect(ended.map(({ status }) => status)).toEqual(Array(4).fill("rejected"));
  expect(Math.max(...asked) - start).toBeLessThanOrEqual(3_000);
});

describe("does not hold:", () => {
  test("a conversation that many requests change at once is refused with 503, after three seconds", async () => {
    const { kv, here, there } = twoLocations();
    const made = await settled(here.send("POST", "/v1/conversations", {}));
    const { id } = z.object({ id: z.string() }).parse(await settled(made.json()));
    const add = (app: ResponsesApp) =>
      app.send("POST", `/v1/conversations/${id}/items`, {
        items: [{ type: "message", role: "user", content: "Hi." }],
      });
    // Each location writes as often as KV allows, so one write of two is late each second.
    const answers = await settled(
      Promise.all([...Array(6)].flatMap(() => [add(here), add(there)])),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 503]));
    expect(new Set(kv.rejected)).toEqual(new Set(["KV PUT failed: 429 Too Many Requests"]));
  });

  test("a response that was read too early is missing in that location for a minute", async () => {
    const kv = createSimulatedKv();
    const there = createKvStore(kv.at("there"));
    const here = createKvStore(kv.at("here"));
    expect(await there.get("a")).toBe(undefined);
    await here.set("a", "x", 3600, "alice");
    expect(await there.get("a")).toBe(undefined);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(await there.get("a")).toBe("x");
  });

  test("a cancel from another location reaches the engine only after a minute", async () => {
    const { kv, here, there } = twoLocations({ write: ANSWER.slice(0, 40), hang: true });
    const { id } = await create(here, BACKGROUND);
    await vi.advanceTimersByTimeAsync(5_000);
    const cancelled = await settled(there.send("POST", `/v1/responses/${id}/cancel`));
    expect(cancelled.status).toBe(200);
    await vi.advanceTimersByTimeAsync(30_000);
    kv.beginInvocation();
    expect(await look(here, id)).toBe("in_progress");
    await vi.advanceTimersByTimeAsync(40_000);
    kv.beginInvocation();
    expect(await look(here, id)).toBe("cancelled");
  });
});
